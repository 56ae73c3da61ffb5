"""What a source's requests travel over: connections to addresses that were checked, cut when their time is over."""

import contextlib
import ipaddress
import socket
import threading
from collections.abc import Iterator

from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError

from sitt_core.errors import SourceError

MOST_ADDRESSES = 4
"""How many of a host's addresses are tried before it counts as out of reach."""
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_LOCAL = tuple(map(ipaddress.ip_network, ("64:ff9b:1::/48", "::/96")))
"""A network's own translation to IPv4, and the IPv6 spelling of IPv4 addresses that nobody uses: no public address is in them."""


def is_public(address: str) -> bool:
    """Whether an IP address is one of the public internet, the IPv4 address inside an IPv6 one included."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if any(ip in network for network in _LOCAL):
            return False
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return ip.is_global and not ip.is_multicast


def checked_addresses(host: str, port: int, *, allow_private: bool) -> list[str]:
    """The addresses a name resolves to; raises SourceError when one of them is not public, socket.gaierror for no such name."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    private = [address for address in addresses if not allow_private and not is_public(address)]
    if private:
        raise SourceError(
            expected=f"{host} to be on the public internet",
            got=f"{private[0]}, an address of a private network",
            remedy="To read from your own network, set SITT_ALLOW_PRIVATE=yes; for any other site this address is a trap.",
        )
    return addresses[:MOST_ADDRESSES]


class Wires:
    """The connections of one fetcher. They go to the address that was checked, so the name cannot change in between."""

    def __init__(self, *, allow_private: bool) -> None:
        self._allow_private = allow_private
        self._lock = threading.Lock()
        self._open: list[tuple[HTTPConnection, socket.socket]] = []
        self.expired = False
        """Whether the time of the last `deadline` ran out."""

    def connect(self, connection: HTTPConnection) -> socket.socket:
        """A socket to one of the host's checked addresses; raises what urllib3 raises, and SourceError."""
        try:
            addresses = checked_addresses(connection.host, connection.port, allow_private=self._allow_private)
        except (socket.gaierror, UnicodeError) as error:
            fault = error if isinstance(error, socket.gaierror) else socket.gaierror(str(error))
            raise NameResolutionError(connection.host, connection, fault) from error
        problem: OSError = OSError("no address")
        for address in addresses:
            try:
                sock = socket.create_connection((address, connection.port), connection.timeout)
            except OSError as error:
                problem = error
                continue
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                # A duplicate, since TLS takes the socket itself over.
                self._open.append((connection, sock.dup()))
            return sock
        if isinstance(problem, TimeoutError):
            raise ConnectTimeoutError(connection, f"no connection to {connection.host} in time") from problem
        raise NewConnectionError(connection, str(problem)) from problem

    @contextlib.contextmanager
    def deadline(self, seconds: float) -> Iterator[None]:
        """Cuts every connection after so many seconds, whatever it is waiting for: headers, a body, a handshake."""
        self.expired = False
        timer = threading.Timer(seconds, self._cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()
            self._forget_closed()

    def _cut(self) -> None:
        with self._lock:
            self.expired = True
            for _, sock in self._open:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

    def _forget_closed(self) -> None:
        with self._lock:
            closed = [sock for connection, sock in self._open if connection.sock is None]
            self._open = [(connection, sock) for connection, sock in self._open if connection.sock is not None]
        for sock in closed:
            sock.close()

    def close(self) -> None:
        """Lets go of what is still open."""
        for _, sock in self._open:
            sock.close()
        self._open = []

    def adapter(self) -> HTTPAdapter:
        """What a session of requests mounts, so that every connection is made by `connect`."""
        wires = self

        class CheckedHTTP(HTTPConnection):
            def _new_conn(self) -> socket.socket:
                return wires.connect(self)

        class CheckedHTTPS(HTTPSConnection):
            def _new_conn(self) -> socket.socket:
                return wires.connect(self)

        class CheckedHTTPPool(HTTPConnectionPool):
            ConnectionCls = CheckedHTTP

        class CheckedHTTPSPool(HTTPSConnectionPool):
            ConnectionCls = CheckedHTTPS

        adapter = HTTPAdapter(max_retries=0)
        adapter.poolmanager.pool_classes_by_scheme = {"http": CheckedHTTPPool, "https": CheckedHTTPSPool}
        return adapter
