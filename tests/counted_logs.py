"""Tables of a few rows, as the verifier's count of a log leaves them."""


def fill(sql, name, rows):
    """A table of rows (user, query or query@url, clicks)."""
    sql.execute(f'CREATE TABLE {name} ("user" VARCHAR, query VARCHAR, url VARCHAR, clicks BIGINT)')
    for user, pair, clicks in rows:
        query, _, url = pair.partition("@")
        values = [user, query, url or f"{query}.x", clicks]
        sql.execute(f"INSERT INTO {name} VALUES (?, ?, ?, ?)", values)
