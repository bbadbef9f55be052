"""One learner at a hub: a server, and in it lessons run cell by cell, through the HTTP API."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from dataclasses import dataclass, field
from typing import Any

from tornado.httpclient import AsyncHTTPClient, HTTPError, HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

RAISES = "raises-exception"


@dataclass
class Learner:
    """What one learner waits for, and what went wrong for them.

    Attributes:
        name: the user's name at the hub.
        start: seconds from asking for the server until it answers.
        lessons: seconds that each lesson took, its kernel's start included.
        failures: a line each.
    """

    name: str
    hub: str
    token: str
    start: float = 0.0
    lessons: dict[str, float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    async def work(self, lessons: list[str], patience: float) -> None:
        """Start the server and run the lessons, one after the other."""
        try:
            await self._start(patience)
            for lesson in lessons:
                began = time.monotonic()
                await asyncio.wait_for(self._run(lesson), patience)
                self.lessons[lesson] = time.monotonic() - began
        except (OSError, HTTPError, TimeoutError) as error:
            self.failures.append(f"{self.name}: {type(error).__name__}: {error}")

    async def leave(self) -> None:
        """Stop the server; one that never started is no failure."""
        try:
            await self._ask("DELETE", f"{self.hub}/hub/api/users/{self.name}/server")
        except HTTPError as error:
            if error.code not in (400, 404):
                self.failures.append(f"{self.name}: stopping: {error}")

    async def _start(self, patience: float) -> None:
        began = time.monotonic()
        users = f"{self.hub}/hub/api/users/{self.name}"
        await self._ask("POST", users)
        await self._ask("POST", f"{users}/server")
        while not (await self._ask("GET", users)).get("server"):
            if time.monotonic() - began > patience:
                raise TimeoutError(f"no server after {patience:.0f} s")
            await asyncio.sleep(0.25)
        await self._ask("GET", f"{self.hub}/user/{self.name}/api/status")
        self.start = time.monotonic() - began

    async def _run(self, lesson: str) -> None:
        server = f"{self.hub}/user/{self.name}/api"
        notebook = await self._ask("GET", f"{server}/contents/notebooks/{lesson}")
        kernel = await self._ask("POST", f"{server}/kernels", {"path": f"notebooks/{lesson}"})
        channels = f"{server}/kernels/{kernel['id']}/channels".replace("http", "ws", 1)
        socket = await websocket_connect(
            HTTPRequest(channels, headers=self._headers(), request_timeout=60)
        )
        try:
            cells = [c for c in notebook["content"]["cells"] if c["cell_type"] == "code"]
            for number, cell in enumerate(cells, 1):
                problem = await execute(socket, "".join(cell["source"]))
                if problem and RAISES not in cell["metadata"].get("tags", []):
                    self.failures.append(f"{self.name}: {lesson}, code cell {number}: {problem}")
                    return
        finally:
            socket.close()
            await self._ask("DELETE", f"{server}/kernels/{kernel['id']}")

    async def _ask(self, method: str, address: str, body: Any = None) -> Any:
        request = HTTPRequest(
            address,
            method,
            headers=self._headers(),
            body=None if method in ("GET", "DELETE") else json.dumps(body or {}),
            request_timeout=120,
        )
        answer = await AsyncHTTPClient().fetch(request)
        return json.loads(answer.body) if answer.body else None

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"token {self.token}"}


async def execute(socket: WebSocketClientConnection, source: str) -> str:
    """Run one cell; the error that it raised, empty if none.

    Raises:
        OSError: if the connection is closed before the cell is done.
    """
    number = uuid.uuid4().hex
    header = {"msg_id": number, "msg_type": "execute_request", "username": "", "session": number}
    content = {"code": source, "silent": False, "store_history": True, "allow_stdin": False}
    message = {"header": header, "parent_header": {}, "metadata": {}, "content": content}
    await socket.write_message(json.dumps({**message, "channel": "shell"}))
    problem, replied, idle = "", False, False
    while not (replied and idle):
        raw = await socket.read_message()
        if raw is None:
            raise OSError("the kernel's connection was closed")
        if isinstance(raw, bytes):
            continue  # a message with buffers; none of ours asks for them
        answer = json.loads(raw)
        if answer.get("parent_header", {}).get("msg_id") != number:
            continue
        kind, content = answer["msg_type"], answer["content"]
        replied |= kind == "execute_reply"
        idle |= kind == "status" and content["execution_state"] == "idle"
        if kind == "error":
            problem = f"{content['ename']}: {content['evalue']}"
    return problem
