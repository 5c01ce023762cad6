"""Reports the ends of attempts. Those that wait while a call is under way travel together with the next one. Why: ADR 0127."""

from __future__ import annotations

import json
import threading
from typing import Any, Callable, Optional

from .canonical import canonical, sha256_hex
from .connection import Connection
from .errors import WritError

batch_items_max = 256
# A batch may have 8 MiB; the rest is for commas and brackets.
batch_bytes_max = 7 * 1024 * 1024


class _Report:
    def __init__(self, job_id: str, path: str, body: dict[str, Any]) -> None:
        self.job_id, self.path, self.body = job_id, path, body
        self.receipt_sha256 = sha256_hex(body["receipt"])
        item = {name: value for name, value in body.items() if name != "worker_id"}
        self.text = json.dumps({"job_id": job_id, **item}, allow_nan=False)
        self.is_done = False
        # The hub did not accept it with others; its own call says why.
        self.is_alone = False
        self.error: Optional[WritError] = None


class Reports:
    """Safe for many threads: each waits for the answer to its own report, and one of them makes the call for all."""

    def __init__(
        self,
        hub: Connection,
        *,
        worker_id: str,
        sign: Callable[[str], str],
        retry_sec: float,
        until: threading.Event,
    ) -> None:
        self._hub, self._worker_id, self._sign = hub, worker_id, sign
        self._retry_sec, self._until = retry_sec, until
        self._changed = threading.Condition()
        self._waiting: list[_Report] = []
        self._is_sending = False

    def send(self, job_id: str, path: str, body: dict[str, Any]) -> None:
        """Returns when the hub has accepted it. Raises WritError."""
        report = _Report(job_id, path, body)
        with self._changed:
            self._waiting.append(report)
        while True:
            with self._changed:
                while self._is_sending and not report.is_done:
                    self._changed.wait()
                if report.is_done:
                    break
                self._is_sending = True
                batch = self._take()
            try:
                self._send(batch)
            finally:
                with self._changed:
                    self._is_sending = False
                    for each in batch:
                        each.is_done = True
                    self._changed.notify_all()
        if report.is_alone:
            self._send_alone(report)
        if report.error is not None:
            raise report.error

    def _take(self) -> list[_Report]:
        """The oldest that fit into one call."""
        size, count = 0, 0
        for report in self._waiting[:batch_items_max]:
            size += len(report.text) + 1
            if count > 0 and size > batch_bytes_max:
                break
            count += 1
        batch, self._waiting = self._waiting[:count], self._waiting[count:]
        return batch

    def _send(self, batch: list[_Report]) -> None:
        if len(batch) == 1:
            self._send_alone(batch[0])
            return
        items = ",".join(report.text for report in batch)
        hashes = [report.receipt_sha256 for report in batch]
        receipts = {"signature": self._sign(canonical({"receipts": hashes, "worker_id": self._worker_id}))}
        text = f'{{"worker_id":{json.dumps(self._worker_id)},"receipts":{json.dumps(receipts)},"items":[{items}]}}'
        try:
            answer = self._call("/jobs/results", text)
            answers = answer["items"]
            if len(answers) != len(batch):
                raise WritError("HTTP_ERROR", "the hub's answer does not have one entry for each report", status=502)
            for report, one in zip(batch, answers):
                report.is_alone = "error" in one
        except WritError as error:
            for report in batch:
                # What one of them caused must not end the others.
                report.is_alone = not error.is_retryable
                report.error = None if report.is_alone else error
        except (TypeError, KeyError):
            for report in batch:
                report.is_alone = True

    def _send_alone(self, report: _Report) -> None:
        try:
            receipt = report.body["receipt"]
            body = {**report.body, "receipt": {"text": receipt, "signature": self._sign(receipt)}}
            self._call(f"/jobs/{report.job_id}/{report.path}", json.dumps(body, allow_nan=False))
        except WritError as error:
            report.error = error

    def _call(self, path: str, text: str) -> Any:
        headers = {"Content-Type": "application/json"}
        return self._hub.call(
            "POST", path, text.encode(), headers=headers, retry_sec=self._retry_sec, until=self._until
        )
