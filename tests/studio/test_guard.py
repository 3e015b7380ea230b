"""The guard: nobody gets in without the token, from another page or under another name."""

import http.client
from urllib.parse import urlsplit


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
        for origin in ("http://evil.example", "null", f"https://{door.host}", f"{own}.evil.example"):
            assert door.ask("/", Cookie=cookie, Origin=origin)[0] == 403, origin
            assert door.ask("/websocket/", **WEBSOCKET, Origin=origin, Cookie=cookie)[0] == 403, origin
        assert door.ask("/websocket/", **WEBSOCKET, Cookie=cookie)[0] == 403  # pages always say where they come from
        assert door.ask("/", "POST", b"x", Cookie=cookie)[0] == 403
        assert door.ask("/", Cookie=cookie.split("=")[0] + "=guess")[0] == 403


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
