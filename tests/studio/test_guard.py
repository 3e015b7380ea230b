"""The guard: nobody gets in without the token, from another page or under another name."""

import asyncio
import http.client
import os
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from privacyfunnel.studio.guard import Guard
from privacyfunnel.studio.neighbours import user_of
from privacyfunnel.studio.serve import server_of


class Door:
    """Requests as a program would make them, byte by byte."""

    def __init__(self, address):
        self.url = urlsplit(address)
        self.host = self.url.netloc

    def ask(self, path, method="GET", body=None, **headers):
        connection = http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=60)
        try:
            connection.request(method, path, body, {"Host": self.host, **headers})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def enter(self):
        """The cookie that the token is exchanged for."""
        status, headers, _ = self.ask(f"/?{self.url.query}")
        assert status == 303
        assert headers["location"] == "/"
        assert "HttpOnly" in headers["set-cookie"]
        assert "SameSite=Strict" in headers["set-cookie"]
        return headers["set-cookie"].split(";")[0]


WEBSOCKET = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}


def test_only_the_owner_of_the_token_gets_in(open_studio):
    with open_studio() as (address, _):
        door = Door(address)
        assert door.url.hostname == "127.0.0.1"
        for path in ("/", "/?token=wrong", "/?token=", "/assets/page.css", "/session/x/download/y", "/websocket/"):
            assert door.ask(path)[0] == 403, path
        assert door.ask("/", "POST", b"x", Origin=f"http://{door.host}")[0] == 403
        assert door.ask("/websocket/", **WEBSOCKET, Origin=f"http://{door.host}")[0] == 403

        cookie = door.enter()
        assert door.ask(f"/?{door.url.query}")[0] == 403  # the token works once
        status, headers, page = door.ask("/", Cookie=cookie)
        assert status == 200
        assert b"privacyfunnel studio" in page
        assert "default-src 'self'" in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        assert door.ask(f"/?{door.url.query}", Cookie=cookie)[0] == 303  # who is in may use the address again
        assert door.ask("/websocket/", **WEBSOCKET, Origin=f"http://{door.host}", Cookie=cookie)[0] == 101

        own = f"http://{door.host}"
        for host in ("evil.example", "127.0.0.1", f"127.0.0.1.evil.example:{door.url.port}", ""):
            assert door.ask("/", Cookie=cookie, Host=host)[0] in (400, 403), host
        other = f"http://localhost:{door.url.port}"  # at ::1, somebody else may listen
        for origin in ("http://evil.example", "null", f"https://{door.host}", f"{own}.evil.example", other):
            assert door.ask("/", Cookie=cookie, Origin=origin)[0] == 403, origin
            assert door.ask("/websocket/", **WEBSOCKET, Origin=origin, Cookie=cookie)[0] == 403, origin
        assert door.ask("/websocket/", **WEBSOCKET, Cookie=cookie)[0] == 403  # pages always say where they come from
        assert door.ask("/", "POST", b"x", Cookie=cookie)[0] == 403
        assert door.ask("/", Cookie=cookie.split("=")[0] + "=guess")[0] == 403


@pytest.mark.long
def test_a_body_that_is_too_large_is_refused_whether_it_says_so_or_not(open_studio):
    with open_studio("--upload-limit", "1") as (address, _):
        door = Door(address)
        cookie = door.enter()
        origin = f"http://{door.host}"
        large = b"x" * (2**20 + 1)
        where = "/session/x/upload/y"
        assert door.ask(where, "POST", b"", Cookie=cookie, Origin=origin, **{"Content-Length": str(2**40)})[0] == 413
        assert door.ask(where, "POST", large[:-1], Cookie=cookie, Origin=origin)[0] == 404  # no such session

        def endless():  # chunks that never say how many
            for _ in range(20):
                yield b"x" * 2**17

        assert door.ask(where, "POST", endless(), Cookie=cookie, Origin=origin)[0] in (404, 413)


NOBODY = 65534


@contextmanager
def neighbour(family, host):
    """A connection to a port of ours: the two ports, and the user at the other end, who is not root even if we are."""
    user = somebody()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with socket_of(user, family) as end:
            end.connect((host, port))
            with listener.accept()[0] as ours:
                yield ours.getpeername()[1], port, user


def somebody():
    """A user who is not root."""
    if not Path("/proc/net/tcp").exists():
        pytest.skip("this system does not tell whose a connection is")
    return os.getuid() or NOBODY


def socket_of(user, family):
    """A connection belongs to the user whose its socket was at first."""
    if user == os.getuid():
        return socket.socket(family)
    os.seteuid(user)
    try:
        return socket.socket(family)
    finally:
        os.seteuid(os.getuid())


def answer_to(guard, client_port, port):
    """What the guard says to somebody who knows the token."""
    said = []
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/",
        "query_string": guard.address.partition("?")[2].encode(),
        "headers": [(b"host", f"127.0.0.1:{port}".encode())],
        "client": ("127.0.0.1", client_port),
    }

    async def send(message):
        said.append(message)

    asyncio.run(guard(scope, None, send))
    return said[0]["status"]


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::ffff:127.0.0.1")])
def test_another_user_gets_in_neither_with_the_token_nor_by_another_kind_of_address(family, host):
    with neighbour(family, host) as (client_port, port, user):
        assert user_of(client_port, port) == user
        assert user_of(client_port, port + 1) is None
        assert answer_to(Guard(None, port, 1, user=user + 1), client_port, port) == 403
        assert answer_to(Guard(None, port, 1, user=user), client_port, port) == 303


@pytest.mark.parametrize("said", ["", "X-Forwarded-For: 127.0.0.1\r\n", "X-Forwarded-For: 10.0.0.1:0\r\n"])
def test_another_user_cannot_pretend_to_ask_for_somebody_else(said):
    user = somebody()
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:
        port = listener.getsockname()[1]
        guard = Guard(nothing, port, 1, user=user + 1)
        server = server_of(guard)
        running = pool.submit(server.run, sockets=[listener])
        with socket_of(user, socket.AF_INET) as end:
            end.connect(("127.0.0.1", port))
            path = guard.address.partition(str(port))[2]
            end.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{said}\r\n".encode())
            answer = end.recv(4096)
        server.should_exit = True
        running.result(timeout=60)
    assert answer.startswith(b"HTTP/1.1 403")


async def nothing(scope, receive, send):
    """An application that starts and ends, and never answers."""
    if scope["type"] == "lifespan":
        for word in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{word}.complete"})


@pytest.mark.long
@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="there is no such signal here")
@pytest.mark.parametrize("name", ["SIGHUP", "SIGINT"])
def test_a_closed_terminal_ends_the_studio_without_a_word_as_ctrl_c_does(name, open_studio):
    with open_studio() as (address, process):
        assert Door(address).ask("/")[0] == 403  # it serves
        process.send_signal(getattr(signal, name))
        assert process.wait(timeout=60) == 0
        assert process.stderr.read() == ""
