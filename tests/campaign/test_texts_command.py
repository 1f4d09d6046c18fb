"""Texts in several languages on the command line."""

import pytest


@pytest.mark.slow
def test_texts_go_out_to_translators_and_come_back(campaigns, draft, tmp_path):
    table = tmp_path / "texts.csv"
    shown = campaigns("texts", draft, "--out", table)
    assert shown["missing"]["de"] == len(shown["texts"])
    lines = table.read_text().splitlines()
    assert lines[0].startswith("en,de,")
    table.write_text("\n".join(["en,de", "Hallways,Flure", "m,Meter"]) + "\n")
    assert campaigns("texts", draft, table)["missing"]["de"] == len(shown["texts"]) - 2
    assert "nothing" not in campaigns.run("campaign", "texts", draft).stdout
    table.write_text("en,de\nCellar,Keller\n")
    assert "no such text" in campaigns.refused("texts", draft, table)
    table.write_text("de\nFlure\n")
    assert "there is no column 'en'" in campaigns.refused("texts", draft, table)
    assert campaigns("texts", draft)["missing"]["de"] == len(shown["texts"]) - 2
