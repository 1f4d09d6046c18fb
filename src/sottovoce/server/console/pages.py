"""Pages: templates to HTML, and problems as pages instead of documents."""

import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.routing import APIRoute
from jinja2 import Environment, PackageLoader, StrictUndefined
from sqlalchemy.exc import SQLAlchemyError

from sottovoce import __version__
from sottovoce.claims.kinds import Kind
from sottovoce.discovery import DEFAULT, describe_method
from sottovoce.discovery.schema import SCHEMAS, Column, Place, columns_in
from sottovoce.protocol.problems import Problem
from sottovoce.protocol.promise import common_unit
from sottovoce.protocol.table_formats import TITLES
from sottovoce.server.console import charts
from sottovoce.server.console.closing import closing_chart
from sottovoce.server.console.plan_maps import plan_maps
from sottovoce.server.console.speaking import NOTHING, has_text, say, speaking, spoken, when, written
from sottovoce.server.results import kind_of
from sottovoce.server.storage.writer import as_problem
from sottovoce.texts import DEFAULT as ENGLISH

log = logging.getLogger("sottovoce.server")


def figure(number: float | None, digits: int = 4) -> str:
    """A number for people.

    >>> figure(-12.34567), figure(1200000.0), figure(None)
    ('−12.35', '1,200,000', '–')
    """
    if number is None:
        return NOTHING
    text = f"{number:,.{digits}g}"
    return written(f"{number:,.0f}" if "e+" in text and abs(number) < 1e12 else text)


def result_columns(place: Place, kind: Kind = "number") -> tuple[list[Column], list[Column]]:
    """The columns of a table of results after the truth and its interval: measured values and answers, then counts.

    Columns that hold several figures are drawn as charts instead.
    """
    named = ("truth", "low", "high", "chance")
    columns = [
        column for column in columns_in(place, SCHEMAS[kind]) if column.name not in named and not column.is_nested
    ]
    beside = [column for column in columns if column.measured or column.is_label]
    return beside, [column for column in columns if column not in beside]


def result_cell(column: Column, row: charts.Row) -> str:
    """A figure of a task for people; a dash if an old version of the results does not have it."""
    entry = row.get(column.name)
    if isinstance(entry, str):
        return entry
    if entry is None or column.measured:
        return charts.measured(entry, row)
    return written(f"{entry}" if column.decimals is None else f"{entry:.{column.decimals}f}")


def column_title(column: Column) -> str:
    """The heading of a column; its English title if there is no translation."""
    return say(f"results.column.{column.name}") if has_text(f"results.column.{column.name}") else column.title


def method_words(name: str) -> str:
    """A method in one line; in English if there is no translation."""
    return say(f"results.method.{name}") if has_text(f"results.method.{name}") else describe_method(name)


_templates = Environment(
    loader=PackageLoader("sottovoce.server.console"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.filters.update(figure=figure, kind_of=kind_of, when=when, written=lambda number: written(str(number)))
_templates.globals.update(
    analyst_columns=partial(result_columns, Place.COMMAND),
    campaign_columns=partial(result_columns, Place.PAGE),
    common_unit=common_unit,
    default_method=DEFAULT,
    column_title=column_title,
    describe_method=describe_method,
    formats=TITLES,
    method_words=method_words,
    say=say,
    spoken=spoken,
    program=f"Sottovoce {__version__}",
    answer_bars=charts.answer_bars,
    forest_plot=charts.forest_plot,
    closing_chart=closing_chart,
    kind_of=kind_of,
    measured=charts.measured,
    percent=charts.percent,
    plan_maps=plan_maps,
    result_cell=result_cell,
    weight_range=charts.weight_range,
    weights_chart=charts.weights_chart,
)


def render(
    request: Request, template: str, *, status: int = 200, language: str = ENGLISH, **context: Any
) -> HTMLResponse:
    """A template as a response. Templates get the request and, on the console's pages, the signed-in operator."""
    signed_in = getattr(request.state, "signed_in", None)
    with speaking(language):
        content = _templates.get_template(template).render(request=request, signed_in=signed_in, **context)
    return HTMLResponse(content, status)


class PageRoute(APIRoute):
    """A route for people: whatever goes wrong is shown on a page."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()

        async def shown_on_a_page(request: Request) -> Response:
            try:
                return await answer(request)
            except Problem as problem:
                if problem.code == "unauthorised":
                    return _sign_in_first(request)
                return problem_page(request, problem)
            except SQLAlchemyError as failure:
                log.error("database error", extra={"kind": type(failure).__name__})
                return problem_page(request, as_problem(failure) or Problem("internal"))
            except RequestValidationError:
                return problem_page(request, Problem("not_found", "the address: there is no such page"))

        return shown_on_a_page


def _sign_in_first(request: Request) -> Response:
    """Redirect to the sign-in page, and from there back to the requested page."""
    if "hx-request" in request.headers:  # a fragment of an open page: the whole page must be replaced
        return Response(headers={"HX-Redirect": "/sign-in"})
    back = f"?{urlencode({'next': request.url.path})}" if request.method == "GET" and request.url.path != "/" else ""
    return RedirectResponse(f"/sign-in{back}", 303)


# The catalogue advises programs and participants. Operators at the console see these titles and fixes instead.
_FOR_OPERATORS = {
    "bad_request": ("This cannot be used", "go back and correct it"),
    "bad_manifest": ("The campaign’s description is not valid", "go back and correct it"),
    "too_large": ("The upload is too large", "choose a smaller file, or split it"),
    "request_timeout": ("The upload took too long to arrive", "try again"),
    "unsupported_media_type": ("The form cannot be read", "reload the page and try again"),
    "forbidden": ("You may not do this", "ask an administrator"),
    "campaign_not_open": ("The campaign is not open", "open the draft first; a closed campaign stays closed"),
    "invitation_spent": ("The invitation has been used", "create a new one"),
    "internal": ("The server failed", "try again later; if it keeps failing, see the server’s log"),
    "unavailable": ("The server cannot do this now", "try again later"),
    "storage_full": ("The server has no space to store this", "free some space on the server and try again"),
}


def problem_page(request: Request, problem: Problem) -> Response:
    title, fix = problem.kind.title, problem.fix
    if hasattr(request.state, "signed_in"):
        title, usual = _FOR_OPERATORS.get(problem.code, (title, fix))
        fix = problem.own_fix or usual
    return render(request, "problem.html", status=problem.status, problem=problem, title=title, fix=fix)
