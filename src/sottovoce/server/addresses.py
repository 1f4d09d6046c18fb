"""Where requests come from."""

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address

UNKNOWN = "unknown"


def plain(address: str) -> str:
    """An address in its usual form. With ``--host ::``, IPv4 addresses arrive written as IPv6.

    >>> plain("::ffff:203.0.113.77"), plain("2001:db8::7"), plain("nobody")
    ('203.0.113.77', '2001:db8::7', 'unknown')
    """
    parsed = _parsed(address)
    return UNKNOWN if parsed is None else str(parsed)


@lru_cache(maxsize=1_000)
def household(address: str) -> str:
    """The addresses of one subscriber: an IPv4 address, or a /64 of IPv6, which has too many to count one by one.

    >>> household("::ffff:203.0.113.77"), household("2001:db8::7"), household("nobody")
    ('203.0.113.77', '2001:0db8:0000:0000', 'unknown')
    """
    parsed = _parsed(address)
    return parsed.exploded[:19] if isinstance(parsed, IPv6Address) else plain(address)


def _parsed(address: str) -> IPv4Address | IPv6Address | None:
    try:
        parsed = ip_address(address)
    except ValueError:
        return None
    return parsed.ipv4_mapped or parsed if isinstance(parsed, IPv6Address) else parsed
