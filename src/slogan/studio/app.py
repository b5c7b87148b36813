"""App: the addresses of the studio, and what answers at each."""

from __future__ import annotations

import asyncio
import json
import time
import traceback
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from slogan.errors import OptionError, SloganError
from slogan.studio import pages, take_away
from slogan.studio.choices import LogChoice
from slogan.studio.forms import Form, form_of
from slogan.studio.guard import Guard
from slogan.studio.screens import BY_NAME, report
from slogan.studio.state import Case, Problem, Studio

_AT_ONCE = 1.2
"""Seconds for which an answer waits for short work, so that its page shows the result."""
_LOOK_EVERY = 0.1


_T = TypeVar("_T")


class Addresses:
    """What is answered, for one studio."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio

    async def home(self, _request: Request) -> Response:
        """The list of logs."""
        return await run_in_threadpool(pages.plain_page, self.studio, "home", "Your logs")

    async def begin(self, request: Request) -> Response:
        """A new log."""
        await self._form(request)
        with self.studio.lock:
            case = self.studio.new_case()
        return self._to(case, "load")

    async def open(self, request: Request) -> Response:
        """An earlier release."""
        try:
            form = await self._form(request)
            return await run_in_threadpool(self._locked, self._opened, form)
        except SloganError as error:
            self.studio.problem = Problem(text=error.problem, hint=error.hint)
        return RedirectResponse(f"{self.studio.base}/", status_code=303)

    def _opened(self, studio: Studio, form: Form) -> Response:
        folder = form.text("release")
        if not (Path(folder) / "public/manifest.json").is_file():
            raise OptionError(
                "there is no release at this path", hint="name the folder that holds public/"
            )
        case = studio.new_case()
        case.opened, case.log = folder, LogChoice(source=form.text("log"))
        report.examine(studio, case)
        return self._to(case, "report")

    async def page(self, request: Request) -> Response:
        """A page of a release, as its readers see it."""
        case = self._case(request)
        name = f"{request.path_params['half']}/{request.path_params['name']}"
        return await run_in_threadpool(take_away.page, case, name)

    async def archive(self, request: Request) -> Response:
        """The public half as a zip."""
        case = self._case(request)
        return await run_in_threadpool(take_away.archive, self.studio, case)

    async def show(self, request: Request) -> Response:
        """A screen."""
        case, screen = self._case(request), BY_NAME.get(request.path_params["screen"])
        if screen is None:
            raise HTTPException(404)
        with self.studio.lock:
            if screen.name == "release" and case.release:
                return self._to(case, "report")
            if not screen.opens(case):
                return self._to(case, "load")
        return await run_in_threadpool(self._locked, pages.screen_page, case, screen)

    async def act(self, request: Request) -> Response:
        """A form of a screen."""
        case, screen = self._case(request), BY_NAME.get(request.path_params["screen"])
        if screen is None:
            raise HTTPException(404)
        following = None
        try:
            form = await self._form(request)
            with self.studio.lock:
                if not screen.opens(case):
                    return self._to(case, "load")
            following = await run_in_threadpool(self._locked, screen.act, case, form)
        except SloganError as error:
            case.problem = Problem(text=error.problem, hint=error.hint)
        if case.job is not None and case.job.running:
            await asyncio.to_thread(case.job.ended.wait, _AT_ONCE)
        return self._to(case, following or screen.name)

    async def cancel(self, request: Request) -> Response:
        """Stop the work of a case."""
        case = self._case(request)
        form = await self._form(request)
        if case.job is not None:
            case.job.cancel()
            await asyncio.to_thread(case.job.ended.wait, _AT_ONCE)
        back = form.text("screen")
        return self._to(case, back if back in BY_NAME else "load")

    async def progress(self, request: Request) -> Response:
        """How far the work of a case is, as events for the script."""
        case = self._case(request)

        async def events() -> AsyncIterator[str]:
            last = ""
            while (job := case.job) is not None and job.running:
                now = json.dumps(asdict(job.step))
                if now != last:
                    yield f"data: {now}\n\n"
                    last = now
                await asyncio.sleep(_LOOK_EVERY)
            yield "event: end\ndata: {}\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    async def style(self, _request: Request) -> Response:
        """The style of all pages."""
        return Response(pages.style(), media_type="text/css")

    async def script(self, _request: Request) -> Response:
        """The script of all pages."""
        return Response(pages.script(), media_type="text/javascript")

    async def icon(self, _request: Request) -> Response:
        """The sign of the tab."""
        return Response(pages.icon(), media_type="image/svg+xml")

    async def here(self, request: Request) -> Response:
        """A tab was opened."""
        self._tab(await self._tab_name(request), opened=True)
        return Response(status_code=204)

    async def bye(self, request: Request) -> Response:
        """A tab was closed, or goes to another page, which then opens it again."""
        self._tab(await self._tab_name(request), opened=False)
        return Response(status_code=204)

    async def end(self, request: Request) -> Response:
        """The person ends the studio."""
        await self._form(request)
        answer = await run_in_threadpool(pages.plain_page, self.studio, "ended", "Ended")
        self.studio.ending = True
        return answer

    async def _tab_name(self, request: Request) -> str:
        return (await request.body())[:64].decode("ascii", "replace")

    def _tab(self, name: str, *, opened: bool) -> None:
        tabs = self.studio.tabs
        if opened and len(tabs) < 1000:
            tabs.add(name)
        else:
            tabs.discard(name)
        self.studio.left = None if tabs else time.monotonic()

    def _case(self, request: Request) -> Case:
        case = self.studio.cases.get(int(request.path_params["number"]))
        if case is None:
            raise HTTPException(404)
        return case

    async def _form(self, request: Request) -> Form:
        form = await form_of(request, self.studio.uploads)
        if form.text("form") != self.studio.form_token:
            raise HTTPException(403)
        return form

    def _locked(self, do: Callable[..., _T], *arguments: object) -> _T:
        with self.studio.lock:
            return do(self.studio, *arguments)

    def _to(self, case: Case, screen: str) -> Response:
        """The page after a form, so that a reload does not send it again."""
        address = f"{self.studio.base}/log/{case.number}/{screen}"
        return RedirectResponse(address, status_code=303)

    async def failed(self, _request: Request, error: Exception) -> Response:
        """An address that does not exist, or an error of ours: without a word of the request."""
        if isinstance(error, HTTPException):
            hints = {403: "Open the page again, and send its form from there."}
            hint = hints.get(error.status_code, "Go back to the list of logs.")
            return pages.failure_page(
                self.studio, error.status_code, "There is nothing like that here.", hint
            )
        if isinstance(error, SloganError):
            return pages.failure_page(self.studio, 400, error.problem, error.hint)
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
        return pages.failure_page(self.studio, 500, f"Internal error: {where}", "Please report it.")


def application(studio: Studio) -> Guard:
    """The application, behind its guard."""
    at = Addresses(studio)
    case = "/log/{number:int}"
    routes = [
        Route("/", at.home),
        Route("/new", at.begin, methods=["POST"]),
        Route("/open", at.open, methods=["POST"]),
        Route(case + "/progress", at.progress),
        Route(case + "/public.zip", at.archive),
        Route(case + "/pages/{half}/{name}", at.page),
        Route(case + "/cancel", at.cancel, methods=["POST"]),
        Route(case + "/{screen}", at.show, methods=["GET"]),
        Route(case + "/{screen}", at.act, methods=["POST"]),
        Route("/here", at.here, methods=["POST"]),
        Route("/bye", at.bye, methods=["POST"]),
        Route("/end", at.end, methods=["POST"]),
        Route("/studio.css", at.style),
        Route("/studio.js", at.script),
        Route("/icon.svg", at.icon),
    ]
    app = Starlette(
        routes=[Mount(studio.base, routes=routes)],
        exception_handlers={HTTPException: at.failed, SloganError: at.failed, Exception: at.failed},
    )
    return Guard(app, studio.gate)
