"""Translations of a campaign's texts, through the API or the console."""

from typing import Any

from sqlalchemy import Connection

from sottovoce.protocol.fields import reported_as
from sottovoce.protocol.manifest import Manifest
from sottovoce.protocol.translations import Translations, with_translations
from sottovoce.server.campaigns import CampaignChange, change
from sottovoce.server.storage.campaigns import draft_of, quotas_of
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
        quotas = quotas_of(connection, row.key)
        for task in fields["tasks"]:
            if task["id"] in quotas:
                task["quota"] = quotas[task["id"]]
    with reported_as("bad_request"):
        changes = CampaignChange.model_validate(fields, strict=False)
    return change(connection, operator_key, campaign, changes)
