"""Where requests come from."""

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address

UNKNOWN = "unknown"


def plain(address: str) -> str:
    """An address as its network knows it. Behind ``--host ::`` those of IPv4 arrive in IPv6's clothes.

    >>> plain("::ffff:203.0.113.77"), plain("2001:db8::7"), plain("nobody")
    ('203.0.113.77', '2001:db8::7', 'unknown')
    """
    found = _parsed(address)
    return UNKNOWN if found is None else str(found)


@lru_cache(maxsize=1_000)
def household(address: str) -> str:
    """What one subscriber holds: an IPv4 address, or a /64 of IPv6, which has more addresses than anybody counts.

    >>> household("::ffff:203.0.113.77"), household("2001:db8::7"), household("nobody")
    ('203.0.113.77', '2001:0db8:0000:0000', 'unknown')
    """
    found = _parsed(address)
    return found.exploded[:19] if isinstance(found, IPv6Address) else plain(address)


def _parsed(address: str) -> IPv4Address | IPv6Address | None:
    try:
        found = ip_address(address)
    except ValueError:
        return None
    return found.ipv4_mapped or found if isinstance(found, IPv6Address) else found
