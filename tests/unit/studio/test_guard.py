"""The guard: requests that must not be answered, and what every answer says."""

import pytest
from starlette.datastructures import Headers
from tests.studio_client import Person, studio

from slogan.studio.guard import COOKIE, HEADERS, MOST_TRIES, Gate, RefusedError


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """One studio that its browser has entered."""
    with studio(tmp_path_factory.mktemp("guard")) as person:
        yield person, person.enter()


def fresh(person):
    """A browser of another person."""
    return Person(person.entrance)


def test_the_cookie_is_for_this_studio_alone(running):
    person, entered = running
    cookie = entered.getheader("set-cookie")

    assert cookie.startswith(f"{COOKIE}=")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert f"Path={person.base}/" in cookie
    assert len(person.base) > 10


def test_every_answer_has_the_headers(running):
    person, _ = running
    for path in ("/", "/studio.css", "/studio.js", "/nothing"):
        answer, _ = person.ask("GET", person.base + path)
        for name, value in HEADERS.items():
            assert answer.getheader(name) == value
    assert "no-store" in HEADERS["cache-control"]
    policy = HEADERS["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


def test_a_token_works_once(running):
    person, _ = running
    other = fresh(person)
    answer, page = other.ask("GET", person.entrance.removeprefix(person.origin))

    assert answer.status == 403
    assert answer.getheader("set-cookie") is None
    assert "used already" in page


def test_nothing_is_answered_without_the_cookie(running):
    person, _ = running
    for path in ("/", "/log/1/load", "/studio.css", "/log/1/public.zip"):
        answer, page = fresh(person).ask("GET", person.base + path)
        assert answer.status == 403
        assert "not been let in" in page


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),  # a name that an attacker's server resolves to us
        ({"Host": "evil.example:80"}, 421),
        ({"Host": "127.0.0.1"}, 421),  # the port belongs to the name
        ({"Host": "0.0.0.0"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),  # another server of this machine
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Dest": "iframe"}, 403),
        ({"Sec-Fetch-Dest": "object"}, 403),
        ({"X-Forwarded-For": "10.0.0.1"}, 403),
        ({"Forwarded": "for=10.0.0.1"}, 403),
        ({"Via": "1.1 notebook"}, 403),
    ],
)
def test_foreign_requests_are_refused_with_the_cookie(running, headers, status):
    person, _ = running
    answer, page = person.ask("GET", f"{person.base}/", headers=headers)

    assert answer.status == status
    assert "Your logs" not in page


@pytest.mark.parametrize(
    "headers",
    [
        {},  # neither origin nor site: not a browser of today
        {"Origin": "null"},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},  # a sandboxed frame
        {"Origin": "http://evil.example", "Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
    ],
)
def test_a_form_of_another_page_does_nothing(running, headers):
    person, _ = running
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    answer, _ = person.ask("POST", f"{person.base}/new", "form=x", {**kind, **headers})

    assert answer.status == 403
    assert person.ask("GET", f"{person.base}/log/1/load")[0].status == 404


def test_a_form_needs_its_token_too(running):
    person, _ = running
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": person.origin}
    for body in ("", "form=", "form=guess"):
        answer, _ = person.ask("POST", f"{person.base}/new", body, headers)
        assert answer.status == 403


def test_what_browsers_send_under_no_referrer_is_a_form_of_ours(running):
    person, _ = running
    _, page = person.get("/")
    token = page.partition('name="form" value="')[2].partition('"')[0]
    headers = {
        "Content-Type": "application/x-www-form-urlencoded",
        "Origin": "null",
        "Sec-Fetch-Site": "same-origin",
    }
    answer, _ = person.ask("POST", f"{person.base}/new", f"form={token}", headers)

    assert answer.status == 303


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"])
def test_other_methods_are_refused(running, method):
    person, _ = running

    assert person.ask(method, f"{person.base}/")[0].status == 405


@pytest.mark.parametrize("path", ["/", "/enter", "/log/1/load", "//evil.example/", "/%2e%2e/"])
def test_outside_of_the_base_there_is_nothing(running, path):
    person, _ = running

    assert person.ask("GET", path)[0].status in (403, 404)


def test_tries_of_tokens_are_limited():
    gate = Gate(port=1)
    for _ in range(MOST_TRIES):
        with pytest.raises(RefusedError, match="not the address"):
            gate.exchange("guess")
    with pytest.raises(RefusedError, match="Too many"):
        gate.exchange(gate.token)
    assert not gate.used


def test_no_cookie_is_known_before_the_token_was_used():
    gate = Gate(port=1)

    assert not gate.knows("")
    cookie = gate.exchange(gate.token)
    assert gate.knows(cookie)
    assert not gate.knows("")


def test_a_request_with_two_hosts_is_refused():
    gate = Gate(port=80)
    two = Headers(raw=[(b"host", b"127.0.0.1:80"), (b"host", b"evil.example")])

    with pytest.raises(RefusedError):
        gate.check("GET", f"{gate.base}/", two)


def test_studios_have_their_own_secrets():
    first, second = Gate(port=1), Gate(port=1)

    assert first.token != second.token
    assert first.base != second.base
    assert len(first.token) >= 40
