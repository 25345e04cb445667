"""Markdown that is hard to stream."""

REPLY = """# Backups

You asked how to **back up** your notes; here is what I would do.

1. Stop the program:

   ```sh
   systemctl stop notes
   ```
2. Copy the file `notes.db` to *another* disk
   - not to the same one
   - and not to a [share](https://example.com/share)

3. Start it again.

```python
def backup(path):
    \"\"\"Copy the file.

    Slowly.
    \"\"\"
    return path  # done
```

| Step | Time | Cost |
|:-----|:----:|-----:|
| stop | 1 s | 0 |
| copy | 5 min | 0.10 |

> Copies that nobody tried
> are no copies.

---
That is all.
"""

DOCUMENTS = {
    "a whole reply": REPLY,
    "nothing": "",
    "blank lines only": "\n\n  \n",
    "a word": "Hello",
    "a long table": "| a | b |\n|---|---|\n"
    + "".join(f"| row {n} | {'x' * (n % 9)} |\n" for n in range(36))
    + "\nEnd",
    "a table that is not one until its second line": "para\na | b\n--- | ---\n1 | 2\nnot a row\n\nend",
    "a list item that looks like the head of a table": "- x\n- a | b\n--- | ---\n- c\n",
    "a code fence that looks like the head of a table": "```a|b\n-|-\n```\nend",
    "a code fence whose content looks like a table's second line": "```a|b\nx\n-|-\n```\nend",
    "a list that goes on after blank lines": "- a\n\n- b\n\n\n  more b\n\n  - c\n\n\n- d\n\nend",
    "a list that turns out to be loose": "- a\n- b\n- c\n\n- d\n",
    "items that are indented more and more": "- a\n - b\n  - c\n   - d\n    - e\n",
    "a list of lists": "- - a\n  - b\n- 1. c\n  2. d\n",
    "two lists one after the other": "- a\n- b\n* c\n* d\n1. e\n2. f\n1) g\n",
    "a numbered list that starts at 7": "7. a\n8. b\n9. c\n10. d\n1. e\n",
    "an empty item": "-\n\n  not in it\n-\n- a\n",
    "a lazy item": "- a\nb\n- c\n> d\ne\n",
    "emphasis that is never closed": "**bold *and `code\n\nnext ** para\n",
    "a fence longer than the screen": "```python\n" + "x = [1, 2]  # y\n" * 60 + "```\nend\n",
    "a fence that is never closed": "text\n```js\n/* a\n b */ let x = `1`\n\n\n",
    "a fence of tildes with backticks in it": "~~~\n```\n~~\n~~~~\nend",
    "an indented fence": "  ```\n  a\n    b\n c\n\td\n  ```  \nend",
    "a fence in an item that ends with the item": "- ```\n  a\n\n  b\nc\n",
    "an empty fence": "a\n\n```\n```\n\nb",
    "indented code": "a\n\n    b\n\n\n    c\n\nd\n\n\te",
    "setext headings": "a\nb\n===\nc\n---\n\n---\nd\n-\n",
    "a late definition": "See [x][ref] and [ref].\n\n- [x]\n\n[ref]: http://e.com 'title'\n[x]: <http://x>\n",
    "HTML": "<div>\n*a*\n\n</div>\n\n<!-- b\n\nc -->\n\nd<br>e <kbd>f</kbd></kbd>\n",
    "wide characters": "中文字符测试，这是一个很长的句子。" * 9
    + "\n\n- 日本語「テスト」\n\n|表|b|\n|-|-|\n|数据|1|\n",
    "combining characters": "e\u0301" * 50 + " 👨‍👩‍👧 👍🏽 " * 10 + "\n",
    "a very long word": "see https://example.com/" + "a" * 300 + " there\n\n- " + "b" * 250 + "\n",
    "tabs": "a\tb\n\n-\tc\n\n\td\n\n```\n\te\tf\n```\n>\tg\n",
    "carriage returns": "a\r\nb\r\n\r\n- c\r- d\r\r\ne\r",
    "quotes": "> a\nlazy\n>\n> > b\n> c\n\n> d\n> - e\n>\n> - f\n>   ```\n>   g\n> h\n",
    "hard breaks": "a  \nb\\\nc\n",
    "thematic breaks": "***\n- - -\n___\na\n***\n",
    "escape sequences": "\x1b[31mred\x1b[0m \x1b]8;;http://e\x07l\x1b]8;;\x07\n\x1b]0;\n\x07 \x9b1m \x1bPq\n\x1b\\ x\n",
    "a paragraph of many lines": "some words in a line\n" * 150 + "\n# End",
    "an item of many lines": "- a\n" + "  - some words\n\n" * 40 + "\nEnd\n\n- b",
    "nested lists with all that can be in them": """1. one
   1. one one
      - deep

        ```sh
        ls

        ls -l
        ```
      - deeper
        > quoted
        > lines
   2. one two

      | a | b |
      |---|---|
      | 1 | 2 |

2. two

   para

   - x
     y
""",
    "a fence in an item, longer than the screen": "- run:\n\n  ```python\n"
    + "".join(f"  line_{n} = '''{n}\n" for n in range(30))
    + "  ```\n\n- and then\n\nEnd",
    "a fence in a quote": "> ```\n" + "> code\n" * 26 + "> ```\n> text\n\nEnd",
    "a list of three digits": "".join(
        f"{n}. item {n} with enough words to wrap it on a narrow terminal\n" for n in range(97, 103)
    ),
    "a year that begins a line": "It was in\n1986. A great year.\n\n1986. A great year.\n",
    "rows with too many cells, and too few": "| a | b |\n|--|--|\n| 1 |\n| 1 | 2 | 3 |\n|\n| `x|y` | a\\|b |\n",
    "a table of wide and combining characters": "| 名前 | 👍🏽 | e\u0301 |\n|:-|:-:|-:|\n"
    + "| 長い名前です | 👍🏽 | e\u0301e\u0301 |\n" * 12
    + "\nend",
    "a table with a very wide cell": "| a | b |\n|---|---|\n"
    + f"| x | {'word ' * 60}|\n| {'y' * 120} | 2 |\n",
    "a table that a list interrupts": "| a |\n|---|\n| 1 |\n- item\n| b |\n|---|\n",
    "emphasis over lines": "**bold\nstill bold** and *it\nalic* and ***both\n\n** not** * a * _b_c_ __d__e\n",
    "emphasis with wide characters": "**「太字」**の文字と*斜体*です。**太字、**です。\n",
    "unclosed code, links and images": '`code [link](http://a ![img](b\n\n[a](<b c> "d\n\n![x] [y](z `w](v)\n',
    "footnotes": "Text[^1] and[^n].\n\n[^1]: Note one.\n[^n]:\n    Note two.\n\n    More.\n",
    "a fence whose closing line has more behind it": "```\na\n``` x\nb\n```\n",
    "right to left": "שלום עולם (abc) 123\n\n- مرحبا **بالعالم**\n\u202eabc\u202c\n",
    "zero width and odd spaces": "a\u200bb\u00a0c\u2009d\u3000e\u00adf\ufe0f g\u2060h\n\n\u00a0\n\n- \u3000x\n",
    "flags, keycaps and joined people": "🇵🇹🇪🇺 1️⃣ 🏳️‍🌈 👨🏾‍🚀 " * 20 + "\n",
    "a quote that ends in a list": "> - a\n>   - b\n>\n>   c\n- d\n\n> e\n\n\n> f\n",
    "headings of all kinds": "## a ##\n### b#\nc\n=\n\nd\n----\n\n**e**\ntext\n# f\n",
    "far too deep": "> " * 60 + "a\n\n" + "- " * 60 + "b\n\nc",
    "definitions that are used before and defined twice": "- see [b]\n- [b]: http://one\n\n| [b] | x |\n|--|--|\n"
    "| [b][] | ![b] |\n\n[b]: http://two\n[b]: http://three\n",
    "tables inside items": "- a\n\n  | x | y |\n  |---|---|\n  | 1 | 2 |\n  lazy?\n- b\n  | x | y |\n  |---|---|\n"
    "- c | d\n  --|--\n  e | f\n\n  end\n1. | q |\n   |---|\n   | r |\n",
    "underlines of headings that are none": "- a\n===\n- b\n  ---\n> q\n---\n> q\n===\n| a |\n|---|\n| b |\n===\n\n"
    "foo\nbar\n   ====   \nbaz\n  -  \n",
    "HTML of all kinds, never closed": "<script>\nlet a = `*x*`;\n\n**b**\n</script>\n<details>\n"
    "<summary>More</summary>\n\n- a\n\n</details>\n<!-- open\n\n# h\n\n<pre>\n  x\n\n y\n</pre>\n"
    "<?php\n?>\n<![CDATA[\n]]>\n",
    "joined emoji that the stream cuts": "👨‍👩‍👧‍👦👩🏽‍🚀🏴󠁧󠁢󠁳󠁣󠁴󠁿" * 9 + "\n\n- " + "👨‍👩‍👧‍👦 " * 20,
    "marks that combine with nothing": "\u0301a\n\n\u0301\u0308\n\n- \u0301x\n\n| \u0301 | a\u0308\u0304\u0323 |\n"
    "|-|-|\n| Z\u0351\u036b\u0343 | े |\n\n" + "नमस्ते दुनिया " * 12 + "\n\n" + "각" * 60 + "\n",
    "tabs everywhere": "-\ta\n\tb\n\t-\tc\n\t\td\n\n1.\te\n\n\t\tf\n\n>\t\tg\n\n|\ta\t|\tb\t|\n|\t-\t|\t-\t|\n"
    "|\t1\t|\n\n`a\tb`\n\n \t x\n```\tpy\n\tif\t1:\n\t\tx\n\t```\n```\n",
    "carriage returns in every block": "```py\r\na = 1\r\n\r\nb\r\n```\r\n| a | b |\r\n|---|---|\r\n| 1 | 2 |\r\n\r\n"
    "- x\r\n\r\n  y\r\n- z\r\n> q\r\n> r\r\n\r\n\r\nh\r\n===\r\n\r\n~~~\r\n\r\n",
    "fences of different lengths": "````md\n```py\nx\n```\n`````\n~~~~\n~~~\n````\n~~~~~~\n```` ```\nx\n````\n"
    "``` a`b\ny\n```\nz\n```\n  ````  \nq\n```\n",
    "fences of different lengths in a list": "1. ````\n   ```\n   a\n   ```\n   ````\n2. ~~~\n   ```\n  b\n   ~~~\n"
    "   ```x\n\n   y\n3. z\n   ```\n",
    "code and tables in quotes in lists": "- > a\n  >\n  >     code\n  >\n  >     more\n\n  >     x\n- >\n- >> b\n"
    "  > c\n  > | t |\n  > |---|\n  > | u |\n\n\n      code\n    not\n",
    "formulas": "So $a*b*c$ and \\(x\\_1\\):\n$$\na_1\n+ b*c*d\n= e\n$$\nand\n\n\\[ a \\\\ b\n\n- x\n\n$$\n1\n$$\n\n"
    "| a | b |\n|---|---|\n| `x | y` | 1 | 2 |\n| 2*3*4 | \\$5 |\n\n2*3*4 and *em* in src/*/x/*.py\n",
}

# fmt: off
PIECES = [
    "a", "b c", "中文", "é", "x_y", "*", "**", "_", "`", "``", "~~", "# ", "## ", "> ", ">", "- ", "-", "+ ", "* ",
    "1. ", "2) ", "10. ", "  ", "    ", "   ", " ", "\t", "---", "===", "***", "[x][y]", "[x]: http://e",
    "[a](http://b)", "![i](s)", "<div>", "<!--", "<br>", "&amp;", "&#27;", "\\", "\r\n", "\r", "\x1b[31m",
    "\x1b]0;x\x07", "\x1b", "[", "]", "\n", "\n\n", "```", "~~~", "````", "```python\n", "\n```\n", "\n  ```\n",
    "def f():\n", "'''", "/*", "*/", "\n    code\n", "\n- ", "\n  - ", "\n   ", "\n1. ", "\n> ", "\n>\n> ", "|",
    "| a | b |", "|---|---|", "\n|-|-|\n", "-|-", "\n| c | d |\n", "$", "$$", "\\(", "\\[", "\\]", "$$\n", "| `a|b` | c |",
]
# fmt: on
