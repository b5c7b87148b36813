"""Guard: which requests are answered at all, and the headers of every answer.

The address that is opened holds a token that can be used once. It is exchanged for a cookie that
scripts cannot read and that belongs to a path which other servers of this machine do not know:
browsers do not keep cookies of different ports apart.
"""

import hmac
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "slogan-studio"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": POLICY,
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "x-robots-tag": "noindex",
}
"""Of every answer; a released page brings a policy that is stricter."""
MOST_TRIES = 10
TRIES_SECONDS = 60.0
_FRAMES = {"iframe", "frame", "fencedframe", "embed", "object"}
_PROXIES = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
_AGAIN = "Start it again in the terminal: slogan studio"


class RefusedError(Exception):
    """A request that is not answered, with a sentence that holds nothing of it."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


@dataclass
class Gate:
    """What one server knows of its address, its token and its browser."""

    port: int
    base: str = field(default_factory=lambda: f"/{secrets.token_urlsafe(9)}")
    """Every address begins with it."""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    used: bool = False
    last_request: float = field(default_factory=time.monotonic)
    _cookie: bytes = b""
    _wrong: list[float] = field(default_factory=list[float])

    @property
    def address(self) -> str:
        """What the browser opens. It works once."""
        return f"http://127.0.0.1:{self.port}{self.base}/enter?token={self.token}"

    @property
    def hosts(self) -> tuple[str, str]:
        """The names under which the server may be addressed."""
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    def exchange(self, token: str) -> str:
        """The cookie for a token, the first time."""
        now = time.monotonic()
        self._wrong = [at for at in self._wrong if now - at < TRIES_SECONDS]
        if len(self._wrong) >= MOST_TRIES:
            raise RefusedError(429, "Too many tries. Wait a minute.")
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            self._wrong.append(now)
            raise RefusedError(403, f"This is not the address of a studio. {_AGAIN}")
        if self.used:
            raise RefusedError(403, f"This address was used already. {_AGAIN}")
        self.used, cookie = True, secrets.token_urlsafe(32)
        self._cookie = sha256(cookie.encode()).digest()
        return cookie

    def knows(self, cookie: str) -> bool:
        """Whether a browser was let in with this cookie."""
        return self.used and hmac.compare_digest(sha256(cookie.encode()).digest(), self._cookie)

    def check(self, method: str, path: str, headers: Headers) -> None:
        """Refuse what does not come from a page of this server, whatever cookie it brings."""
        host = headers.getlist("host")
        if len(host) != 1 or host[0].lower() not in self.hosts:
            raise RefusedError(421, "This server answers under its own address only.")
        if any(name in headers for name in _PROXIES):
            raise RefusedError(403, "The studio does not answer through a proxy.")
        if headers.get("sec-fetch-dest", "") in _FRAMES:
            raise RefusedError(403, "The studio does not answer in a frame.")
        if method not in ("GET", "HEAD", "POST"):
            raise RefusedError(405, "Only GET and POST are answered.")
        origins, site = headers.getlist("origin"), headers.get("sec-fetch-site", "")
        ours = [f"http://{host[0].lower()}"]
        if origins not in ([], ["null"], ours):
            raise RefusedError(403, "This request comes from another page.")
        if not path.startswith(f"{self.base}/"):
            raise RefusedError(404, "There is nothing at this address.")
        if method == "POST":
            # Under `no-referrer` browsers write the origin of a form as null.
            if origins != ours and site != "same-origin":
                raise RefusedError(403, "This request does not come from a page of the studio.")
        elif site not in ("", "none", "same-origin") and path != f"{self.base}/enter":
            raise RefusedError(403, "This request comes from another page.")


class Guard:
    """Asks the gate before the application, and puts the headers on whatever is answered."""

    def __init__(self, app: ASGIApp, gate: Gate) -> None:
        self._app, self._gate = app, gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            answer = self._answer(scope)
        except RefusedError as refused:
            answer = _plain(refused.status, refused.reason)
        await (answer or self._app)(scope, receive, guarded)

    def _answer(self, scope: Scope) -> Response | None:
        """The exchange of the token; None for a request that the application answers."""
        headers, path = Headers(scope=scope), scope["path"]
        self._gate.check(scope["method"], path, headers)
        cookie = _cookies(headers).get(COOKIE, "")
        known = self._gate.knows(cookie)
        if path == f"{self._gate.base}/enter":
            if scope["method"] != "GET":
                raise RefusedError(405, "This address is opened, and nothing is sent to it.")
            return self._enter(scope, known=known)
        if not known:
            raise RefusedError(403, f"This browser has not been let in. {_AGAIN}")
        self._gate.last_request = time.monotonic()
        return None

    def _enter(self, scope: Scope, *, known: bool) -> Response:
        home = f"{self._gate.base}/"
        # A page, not a redirection: the cookie is not sent along one that began elsewhere.
        answer = _plain(200, "", forward=home)
        if not known:
            cookie = self._gate.exchange(_token(scope["query_string"]))
            answer.set_cookie(COOKIE, cookie, path=home, httponly=True, samesite="strict")
        return answer


def _token(query: bytes) -> str:
    return query.decode("latin-1").removeprefix("token=")


def _cookies(headers: Headers) -> Mapping[str, str]:
    parts = "; ".join(headers.getlist("cookie")).split("; ")
    return {name: value for name, _, value in (part.partition("=") for part in parts)}


def _plain(status: int, reason: str, *, forward: str = "") -> HTMLResponse:
    """A page without style, because its reader may have no cookie."""
    meta = f'<meta http-equiv="refresh" content="0; url={forward}">' if forward else ""
    icon = f'<link rel="icon" href="{forward}icon.svg">' if forward else ""
    link = f'<p><a href="{forward}">Open the studio</a></p>' if forward else f"<p>{reason}</p>"
    return HTMLResponse(
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"{meta}{icon}<title>slogan studio</title></head>"
        f"<body><main><h1>slogan studio</h1>{link}</main></body></html>",
        status_code=status,
    )
