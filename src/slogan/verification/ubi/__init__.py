"""UBI: logs of queries and events, read and written once more."""
