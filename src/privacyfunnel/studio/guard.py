"""Guard: what stands between the studio and everything else on the machine.

Only requests to our own host and from our own pages pass, and only with the secret that the one-time token in the
address was exchanged for; and where Linux tells, only from programs of our own user. So no other user, no other program
and no web page that guesses the port can look in.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b64encode
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from secrets import token_urlsafe
from typing import Any
from urllib.parse import parse_qs

from privacyfunnel.studio.neighbours import is_foreign, own_user

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
ASGI = Callable[[Scope, Receive, Send], Awaitable[None]]

HEADERS = {
    "content-security-policy": (
        "default-src 'self'; script-src 'self' {scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
TOKEN_BYTES = 32
"""Of tokens and passes: nobody guesses 256 bits."""
POLICY_VIOLATION = 1008
"""Why a connection is closed, by RFC 6455."""


class _TooLarge(Exception):
    """The body of a request is longer than allowed."""


class Guard:
    """An ASGI application that lets only the owner through to another one."""

    def __init__(self, app: ASGI, port: int, most_bytes: int, page: str = "", user: int | None = None) -> None:
        self._app = app
        self._port = port
        self._user = own_user() if user is None else user
        self._headers = _headers(page)
        self._most_bytes = most_bytes
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._cookie = f"funnel-studio-{port}"  # browsers share cookies between ports
        self._pass = token_urlsafe(TOKEN_BYTES)
        self._token: str | None = token_urlsafe(TOKEN_BYTES)
        self.address = f"http://127.0.0.1:{port}/?token={self._token}"
        """Where to go first. The token in it works once."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        trouble = self._trouble(scope, headers)
        if trouble:
            await self._refuse(scope, send, 403, trouble)
        elif self._known(headers):
            await self._let_in(scope, receive, send, headers)
        elif self._takes_token(scope):
            await self._redirect(send, f"{self._cookie}={self._pass}; HttpOnly; SameSite=Strict; Path=/")
        else:
            words = "The studio opens only with the address that funnel studio printed, which works once."
            await self._refuse(scope, send, 403, words)

    def _trouble(self, scope: Scope, headers: dict[str, str]) -> str | None:
        """Why a request comes from the wrong place, if it does."""
        client = scope.get("client")
        if client is not None and is_foreign(client[1], self._port, self._user):
            return "The studio is another user's."
        if headers.get("host") not in self._hosts:
            return "This is not the address of the studio."  # a foreign name that resolves to this machine
        origin = headers.get("origin")
        if origin is None and (scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD")):
            return "The request does not say which page it comes from."
        if origin is not None and origin != f"http://{headers['host']}":  # localhost may be somebody else, at ::1
            return "The request comes from another page."
        return None

    def _known(self, headers: dict[str, str]) -> bool:
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return False
        return cookie is not None and hmac.compare_digest(cookie.value.encode(), self._pass.encode())

    def _takes_token(self, scope: Scope) -> bool:
        """Whether the request brings the token, which is then used up."""
        if scope["type"] != "http" or scope["method"] != "GET" or scope["path"] != "/" or self._token is None:
            return False
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if not hmac.compare_digest(given.encode(), self._token.encode()):
            return False
        self._token = None
        return True

    async def _let_in(self, scope: Scope, receive: Receive, send: Send, headers: dict[str, str]) -> None:
        if scope["type"] == "websocket":
            await self._app(scope, receive, send)
            return
        if scope["path"] == "/" and scope["query_string"]:
            await self._redirect(send)  # a used token need not stand in the address
            return
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > self._most_bytes:
            await self._refuse(scope, send, 413, "The file is too large.")
            return
        started = False
        read = 0

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self._most_bytes:
                raise _TooLarge
            return message

        async def guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message = {**message, "headers": [*message["headers"], *self._headers]}
            await send(message)

        try:
            await self._app(scope, counted, guarded)
        except _TooLarge:
            if not started:
                await self._refuse(scope, send, 413, "The file is too large.")

    async def _redirect(self, send: Send, cookie: str | None = None) -> None:
        headers = [(b"location", b"/"), *self._headers, *([(b"set-cookie", cookie.encode())] if cookie else [])]
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    async def _refuse(self, scope: Scope, send: Send, status: int, words: str) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": words})
            return
        headers = [(b"content-type", b"text/plain; charset=utf-8"), *self._headers]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": f"{words}\n".encode()})


def _headers(page: str) -> list[tuple[bytes, bytes]]:
    """The headers of every answer; scripts that stand in the page itself are allowed by their digests."""
    scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    digests = [b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return [(name.encode(), value.format(scripts=allowed).encode()) for name, value in HEADERS.items()]
