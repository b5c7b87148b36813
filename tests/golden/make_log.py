"""Writes the golden log: forty rows, twelve users, shared and unique pairs. Run once."""

from pathlib import Path

PAIRS = [
    ("weather", "www.weather-today.com"),
    ("cheap flights", "www.fly-cheap.com"),
    ('"exact phrase"', "www.search.com/q?a=1&b=2"),
    ("garden centre near me", "www.green-thumb.org"),
    ("nährwert äpfel", "www.apfel.de"),
]


def rows():
    for user in range(12):
        for pair, (query, url) in enumerate(PAIRS):
            if (user * 3 + pair * 5) % 4 < 2 or pair == 0:
                yield 3000 + 7 * user, query, url, 1 + (user * pair) % 3
    yield 3007, "my own street 12", "www.maps.com", 2
    yield 3014, "name of my dog", "www.dogs.com", 1


if __name__ == "__main__":
    lines = ["user\tquery\turl\tcount", *("\t".join(map(str, row)) for row in rows())]
    Path(__file__).with_name("clicks.tsv").write_text("".join(f"{line}\n" for line in lines))
