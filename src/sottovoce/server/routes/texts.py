"""The texts of a campaign in several languages."""

from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field

from sottovoce.protocol.manifest import Manifest
from sottovoce.protocol.translations import languages_in, missing, own_language, texts_of
from sottovoce.server import translations as actions
from sottovoce.server.bodies import RequestBody, body_of, described
from sottovoce.server.problems import problems
from sottovoce.server.rights import Operator
from sottovoce.server.routes.campaigns import UNREADABLE, CampaignId
from sottovoce.server.state import Server
from sottovoce.server.storage.campaigns import campaign_of
from sottovoce.server.storage.rows import CampaignRow
from sottovoce.texts import LANGUAGES

router = APIRouter(prefix="/api/campaigns/{campaign}/texts", tags=["texts"])


class TextEntry(BaseModel):
    text: Annotated[str, Field(description="in the campaign's own language")]
    where: str
    translations: dict[str, str]


class CampaignTexts(BaseModel):
    language: Annotated[str, Field(description="the campaign's own language")]
    texts: list[TextEntry]
    missing: Annotated[
        dict[str, int],
        Field(description="how many texts are missing in each language of the page and of the campaign"),
    ]


class NewText(RequestBody):
    """A text in the campaign's own language, and its translations by language; an empty translation removes one."""

    text: Annotated[str, Field(max_length=2000)]
    translations: Annotated[dict[str, Annotated[str, Field(max_length=2000)]], Field(max_length=50)]


class NewTexts(RequestBody):
    """Translations to add, or the language that the campaign's texts are in."""

    texts: Annotated[list[NewText], Field(fail_fast=True, max_length=100_000, default_factory=list)]
    language: Annotated[str, Field(max_length=20)] | None = None


def _entry(row: CampaignRow) -> CampaignTexts:
    content = Manifest.parse(row.manifest).content()
    texts, own = texts_of(content), own_language(content)
    tags = [tag for tag in dict.fromkeys([*LANGUAGES, *languages_in(texts)]) if tag != own]
    return CampaignTexts(
        language=own,
        texts=[TextEntry(text=text.text, where=text.where, translations=text.translations) for text in texts],
        missing={tag: len(missing(texts, tag)) for tag in tags},
    )


@router.get("", responses=problems("unauthorised", "not_found", "bad_request"))
async def get(operator: Operator, campaign: CampaignId, server: Server) -> CampaignTexts:
    """All texts of one of your campaigns, with their translations and how many are missing."""
    return _entry(await server.read(lambda connection: campaign_of(connection, operator.key, campaign)))


@router.patch(
    "",
    responses=problems("unauthorised", "not_found", "frozen", "bad_manifest", *UNREADABLE),
    openapi_extra=described(NewTexts),
)
async def translate(
    operator: Operator, campaign: CampaignId, body: Annotated[NewTexts, Depends(body_of(NewTexts))], server: Server
) -> CampaignTexts:
    """Add translations to a draft. Texts that are not named stay as they are."""
    new: dict[str, dict[str, str]] = {}
    for entry in body.texts:
        new.setdefault(entry.text, {}).update(entry.translations)
    return _entry(
        await server.write(lambda connection: actions.translate(connection, operator.key, campaign, new, body.language))
    )
