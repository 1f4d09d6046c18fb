"""Translations of a campaign's texts, through the API or the console."""

from typing import Any

from sqlalchemy import Connection

from sottovoce.protocol.manifest import Manifest
from sottovoce.protocol.translations import Translations, with_translations
from sottovoce.server.campaigns import change_fields, with_quotas
from sottovoce.server.storage.campaigns import draft_of
from sottovoce.server.storage.rows import CampaignRow


def translate(
    connection: Connection, operator_key: int, campaign: str, translations: Translations, language: str | None = None
) -> CampaignRow:
    """Add translations to a draft, or say which language its texts are in."""
    row = draft_of(connection, operator_key, campaign)
    content = Manifest.parse(row.manifest).content()
    fields: dict[str, Any] = {"language": language} if language else {}
    if translations:
        fields |= with_translations(content, translations)
        fields["tasks"] = with_quotas(connection, row, fields["tasks"])
    return change_fields(connection, operator_key, campaign, fields)
