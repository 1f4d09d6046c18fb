"""The logo of a draft. The manifest has its hash, so that nobody can replace it later."""

from sqlalchemy import Connection

from sottovoce.protocol.manifest import Manifest
from sottovoce.protocol.pictures import Picture
from sottovoce.server.campaigns import CampaignChange, change
from sottovoce.server.storage.campaigns import campaign_of
from sottovoce.server.storage.pictures import LOGOS
from sottovoce.server.storage.rows import CampaignRow


def set_logo(connection: Connection, operator_key: int, campaign: str, picture: Picture) -> CampaignRow:
    """Set or replace the logo of a draft."""
    row = change(connection, operator_key, campaign, CampaignChange(logo=picture.sha256))
    LOGOS.put(connection, row.key, picture)
    return row


def clear_logo(connection: Connection, operator_key: int, campaign: str) -> CampaignRow:
    """Remove the logo from a draft."""
    row = campaign_of(connection, operator_key, campaign)
    if Manifest.parse(row.manifest).logo_sha256 is None:
        return row
    return change(connection, operator_key, campaign, CampaignChange(logo=None))
