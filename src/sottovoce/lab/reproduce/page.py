"""One self-contained page: every figure, with the claim of the paper and a verdict from the numbers."""

import base64
from html import escape
from typing import Any

from sottovoce import __version__
from sottovoce.claims.writing import whole_file
from sottovoce.lab.reproduce.experiment import Experiment, ExperimentOutcome, Reproduction
from sottovoce.lab.reproduce.tables import Table, headings
from sottovoce.lab.standalone import standalone

_BADGES = {True: ("holds", "holds here"), False: ("fails", "does not hold here"), None: ("measured", "measured here")}


def write_page(made: Reproduction) -> None:
    """Write index.html into the folder of the figures."""
    papers = [one for one in made.outcomes if one.experiment.of_the_paper]
    beyond = [one for one in made.outcomes if not one.experiment.of_the_paper]
    parts = [_opening(made)]
    for heading, outcomes in (("The paper’s figures", papers), ("Beyond the paper", beyond)):
        if outcomes:
            parts.append(f"<h2>{heading}</h2>")
            parts += [_section(one, made) for one in outcomes]
    parts += [
        f'<section><h3 id="{name}">{escape(name)}</h3><p>Left out: {escape(why)}</p></section>'
        for name, why in made.left_out.items()
    ]
    body = "\n".join(parts)
    with whole_file(made.page) as temporary:
        temporary.write_text(standalone("The figures of private truth discovery", body), encoding="utf-8")


def _opening(made: Reproduction) -> str:
    rows = "".join(
        f'<tr><td><a href="#{one.experiment.name}">{escape(one.experiment.heading)}</a></td><td>{_badge(one)}</td></tr>'
        for one in made.outcomes
    )
    size = "few runs on small grids (--quick)" if made.setting.quick else "the default size"
    floorplan = (
        f"the copy in {escape(made.setting.floorplan)}" if made.setting.floorplan else "a simulated building"
    )  # fmt: skip
    return f"""<h1>The figures of private truth discovery</h1>
<p>Made by <code>sottovoce reproduce</code>, version {__version__}, seed {made.setting.seed}, {size}; the floorplan is
{floorplan}. The paper is “Towards Differentially Private Truth Discovery for Crowd Sensing Systems” (Y. Li et al.,
arXiv:1810.04760). Every verdict is computed from the numbers of its figure. Parameters that the paper does not state
were chosen here and are listed under each figure.</p>
<table class="contents"><caption>Results</caption><thead><tr><th scope="col">figure</th>
<th scope="col">result</th></tr></thead><tbody>{rows}</tbody></table>"""


def _section(one: ExperimentOutcome, made: Reproduction) -> str:
    experiment = one.experiment
    picture = base64.b64encode((made.out / one.files[0]).read_bytes()).decode()
    asked = "The paper claims" if experiment.of_the_paper else "The question"
    links = ", ".join(f'<a href="{name}">{name.rsplit(".", 1)[1].upper()}</a>' for name in one.files)
    return f"""<section>
<h3 id="{experiment.name}">{escape(experiment.heading)}</h3>
<p><strong>{asked}:</strong> {escape(experiment.claim)}</p>
<p>{_badge(one)} {escape(one.verdict.sentence)}</p>
<figure><img src="data:image/png;base64,{picture}" alt="{escape(_description(experiment, one), quote=True)}">
<figcaption>Files: {links}</figcaption></figure>
{_choices(one)}<details><summary>The numbers ({len(one.table)} rows)</summary>{_data(one.table)}</details>
</section>"""


def _choices(one: ExperimentOutcome) -> str:
    chosen = one.experiment.choices(one.table)
    rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in choice)}</tr>" for choice in chosen)
    head = '<th scope="col">parameter</th><th scope="col">the paper says</th><th scope="col">chosen here</th>'
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>" if chosen else ""


def _badge(one: ExperimentOutcome) -> str:
    kind, text = _BADGES[one.verdict.holds]
    return f'<span class="badge {kind}">{text}</span>'


def _description(experiment: Experiment, one: ExperimentOutcome) -> str:
    return f"Figure: {experiment.title}. {one.verdict.sentence} The numbers are in the table below it."


def _data(table: Table) -> str:
    names = headings(table)
    head = "".join(f'<th scope="col">{escape(name.replace("_", " "))}</th>' for name in names)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(_cell(row.get(name)))}</td>" for name in names) + "</tr>" for row in table
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _cell(entry: Any) -> str:
    if entry is None:
        return "–"
    return f"{entry:.4g}" if isinstance(entry, float) else str(entry)
