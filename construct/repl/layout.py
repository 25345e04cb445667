"""How the prompt is laid out: what is still coming, the line being typed, completions, the toolbar."""

from collections.abc import Callable

from prompt_toolkit.application import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import has_completions, has_focus, is_done
from prompt_toolkit.formatted_text import AnyFormattedText, StyleAndTextTuples
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    Float,
    FloatContainer,
    FormattedTextControl,
    HSplit,
    Layout,
    Window,
)
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.layout.processors import (
    AppendAutoSuggestion,
    ConditionalProcessor,
    HighlightIncrementalSearchProcessor,
    HighlightSelectionProcessor,
)
from prompt_toolkit.widgets import SearchToolbar

_MENU_ROWS = 8
_FEWEST_INPUT_ROWS = 3


def build_layout(
    buffer: Buffer,
    *,
    live: Callable[[], StyleAndTextTuples],
    prompt: Callable[[], StyleAndTextTuples],
    toolbar: Callable[[], AnyFormattedText],
) -> Layout:
    """Return the layout; each part is asked for what it shows whenever it is drawn."""
    search = SearchToolbar(ignore_case=True)
    line = Window(
        BufferControl(
            buffer,
            search_buffer_control=search.control,
            preview_search=True,
            include_default_input_processors=False,
            input_processors=[
                HighlightIncrementalSearchProcessor(),
                HighlightSelectionProcessor(),
                ConditionalProcessor(AppendAutoSuggestion(), has_focus(buffer) & ~is_done),
            ],
        ),
        height=lambda: Dimension(min=1, max=max(_FEWEST_INPUT_ROWS, get_app().output.get_size().rows // 2)),
        get_line_prefix=lambda number, wrapped: _prefix(prompt(), first=number == 0 and wrapped == 0),
        wrap_lines=True,
        dont_extend_height=True,
    )
    rows = HSplit(
        [
            Window(FormattedTextControl(live), dont_extend_height=True),
            line,
            ConditionalContainer(Window(height=lambda: _menu_height(buffer)), has_completions),
            search,
            Window(FormattedTextControl(toolbar), height=1, dont_extend_height=True),
            Window(),  # takes the rows that were needed before and are not now
        ]
    )
    menu = Float(CompletionsMenu(max_height=_MENU_ROWS, scroll_offset=1), xcursor=True, ycursor=True)
    return Layout(FloatContainer(rows, [menu]), line)


def _prefix(prompt: StyleAndTextTuples, *, first: bool) -> StyleAndTextTuples:
    """Return the prompt before the first line, as much room before the others."""
    return prompt if first else [("", " " * sum(len(fragment[1]) for fragment in prompt))]


def _menu_height(buffer: Buffer) -> Dimension:
    state = buffer.complete_state
    return Dimension.exact(min(_MENU_ROWS, len(state.completions)) if state else 0)
