"""What a log is: files, formats, columns."""
