"""The formats of other programs' files. The first that a file looks like is its format."""

from construct.store.transfer.formats.ai_studio import AI_STUDIO
from construct.store.transfer.formats.chatgpt import CHATGPT
from construct.store.transfer.formats.claude import CLAUDE
from construct.store.transfer.formats.claude_code import CLAUDE_CODE
from construct.store.transfer.formats.deepseek import DEEPSEEK
from construct.store.transfer.formats.gemini_takeout import GEMINI_TAKEOUT
from construct.store.transfer.formats.grok import GROK
from construct.store.transfer.formats.hand_made import HAND_MADE
from construct.store.transfer.formats.librechat import LIBRECHAT
from construct.store.transfer.formats.llm_logs import LLM_LOGS
from construct.store.transfer.formats.markdown_notes import MARKDOWN_NOTES
from construct.store.transfer.formats.memory_list import MEMORY_LIST
from construct.store.transfer.formats.open_webui import OPEN_WEBUI
from construct.store.transfer.formats.sillytavern import SILLYTAVERN

FORMATS = (
    HAND_MADE,
    DEEPSEEK,
    CHATGPT,
    CLAUDE,
    GROK,
    GEMINI_TAKEOUT,
    AI_STUDIO,
    OPEN_WEBUI,
    LIBRECHAT,
    CLAUDE_CODE,
    LLM_LOGS,
    SILLYTAVERN,
    MEMORY_LIST,
    MARKDOWN_NOTES,
)
