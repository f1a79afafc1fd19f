"""The examples of a page are read, and compared with what is printed, as CONTRIBUTING says."""

from __future__ import annotations

import pytest

from tests.repo import documents

PAGE = """\
# A page

```console
$ skelo validate a.yaml
ok
$ skelo run a.yaml \\
>   --json
(exit code 3)
$ skelo run b.yaml
paused
(exit code 3)
$ true
```

```yaml file=flows/a.yaml
name: a
```

```yaml
not: a file
```

```python
print("hi")
```
"""


def test_a_page_is_read_as_steps_in_order() -> None:
    assert list(documents.steps(PAGE)) == [
        documents.Command(line=4, text="skelo validate a.yaml", exit_code=0, printed="ok"),
        documents.Command(line=6, text="skelo run a.yaml \\\n  --json", exit_code=3, printed=None),
        documents.Command(line=9, text="skelo run b.yaml", exit_code=3, printed="paused"),
        documents.Command(line=12, text="true", exit_code=0, printed=None),
        documents.File(line=16, name="flows/a.yaml", text="name: a\n"),
        documents.File(line=24, name="example_4.py", text='print("hi")\n'),
        documents.Command(line=24, text="python example_4.py", exit_code=0, printed=None),
    ]


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("a\nb", "a\nb\n"),
        ("a  \n", "\na\n\n"),
        ("run ... done", "run 4f2c in 12 ms done\n"),
        ("first\n...\nlast", "first\nlast\n"),
        ("first\n...\nlast", "first\nx\n\ny\nlast\n"),
        ("...", ""),
        (
            "run 712770eb-f983-4af7-9210-8032e21fdcef\n09:50:05 greet  done in 62 ms\nskelo approve b8b22f34",
            "run 5d1c0ab2-0000-4af7-9210-8032e21fdcef\n10:00:00 greet  done in 1.5 s\nskelo approve 01234567\n",
        ),
    ],
)
def test_what_is_shown_fits_what_is_printed(shown: str, printed: str) -> None:
    assert documents.fits(shown, printed)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [("a", "a\nb\n"), ("a\nb", "b\na\n"), ("run ... done", "run 4\nfailed, done\n"), ("a.c", "abc\n"), ("a", "")],
)
def test_what_is_shown_differs_from_what_is_printed(shown: str, printed: str) -> None:
    assert not documents.fits(shown, printed)
