"""What a strategy was asked for, as the first line of a schedule file.

    # choices {"schedule": "overlapped", "time_tile": 4, "registers": 128}

A schedule says most of it itself; what it does not say (registers, order of bodies, passes left out, graphs, shared
memory) holds again when the file is loaded, unless options ask for something else.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any, TypeVar

from polytile.choices import CHOICES, Choices
from polytile.diagnostics import UsageError, UserError
from polytile.ir.plan_file import from_json, to_json

_LINE = r"(?m)^# choices (\{.*)\n?"
HINT = "start from a file that --save-schedule wrote, or leave the line `# choices` out"
Asked = TypeVar("Asked", bound=Choices)


def choices_line(choices: Choices) -> str:
    """Return the line of a schedule file; empty where nothing was asked for."""
    asked = choices.asked
    return f"# choices {json.dumps(to_json(Choices(**asked)))}\n" if asked else ""


def split_choices(text: str) -> tuple[str, Choices]:
    """Split the text of one schedule from what its strategy was asked for; raises UserError for a wrong line."""
    lines = re.findall(_LINE, text)
    if len(lines) > 1:
        raise UserError("two lines `# choices` of one schedule", hint=HINT)
    if not lines:
        return text, Choices()
    try:
        content: Any = json.loads(lines[0])
    except json.JSONDecodeError:
        raise UserError(f"no JSON behind `# choices`: {lines[0]}", hint=HINT) from None
    try:
        found: Choices = from_json(Choices, content)
        for choice in CHOICES:
            choice.check(getattr(found, choice.name))
    except (UserError, UsageError) as error:
        raise UserError(f"`# choices`: {error.message}", hint=HINT) from None
    return re.sub(_LINE, "", text), found


def with_choices(options: Asked, saved: Choices) -> Asked:
    """Take from a schedule file what the schedule itself does not say, where the options ask for nothing.

    before: registers=0, order="tree"; the file has {"registers": 96, "order": "sweep", "time_tile": 4}
    after:  registers=96, order="tree"
    """
    free = (c.name for c in CHOICES if not c.in_schedule and c.name not in options.asked)
    return replace(options, **{name: getattr(saved, name) for name in free})
