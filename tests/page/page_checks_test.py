"""The checks of page_accessibility.py find what they look for, in pages made for that."""

import page_accessibility as accessibility
from page_browser import NARROW, PageTest, main

SOUND = """<!doctype html><html lang="en"><title>sound</title>
<style>body { background: #fff; color: #222; } :focus-visible { outline: 2px solid #00f; }</style>
<main><h1>One</h1><h2>Two</h2><p id="a">text <a href="#b">link</a></p>
<label>Name <input></label><button>Go</button>
<svg role="img" aria-label="plot" width="60" height="20"><rect class="background" width="60"
height="20" fill="#000"></rect><text y="12" fill="#fff">ax</text></svg></main>"""


class PageChecks(PageTest):
    def found(self, old="", new="", check=accessibility.structure):
        self.assertIn(old, SOUND)
        self.page.set_content(SOUND.replace(old, new, 1) if old else SOUND)
        return "\n".join(check(self.page))

    def test_a_sound_page_has_no_problem(self):
        for check in (accessibility.structure, accessibility.unnamed, accessibility.contrast,
                      accessibility.keyboard):
            self.assertEqual(self.found(check=check), "")

    def test_structure(self):
        self.assertIn("language", self.found(' lang="en"', ""))
        self.assertIn("no title", self.found("<title>sound</title>", ""))
        self.assertIn("H3", self.found("<h2>Two</h2>", "<h3>Two</h3>"))
        self.assertIn("0 main", self.found("<main>", "<div>"))
        self.assertIn("2 headings of level 1", self.found("<h2>Two</h2>", "<h1>Two</h1>"))
        self.assertIn("the id a", self.found("<button>", '<button id="a">'))
        self.assertIn("nowhere", self.found("<button>", '<button aria-controls="none">'))
        self.assertIn("canvas", self.found("<button>Go</button>", "<canvas></canvas>"))
        self.assertIn("tabindex", self.found("<button>", '<button tabindex="3">'))

    def test_names(self):
        check = accessibility.unnamed
        self.assertIn("button without", self.found("Go</button>", "</button>", check))
        self.assertIn("textbox without", self.found("<label>Name <input></label>", "<input>",
                                                    check))
        self.assertIn("without a name", self.found(' aria-label="plot"', "", check))
        self.assertIn("link without", self.found(">link<", "><", check))

    def test_contrast(self):
        check = accessibility.contrast
        self.assertIn('"text"', self.found("color: #222", "color: #888", check))
        self.assertIn('"text"', self.found("color: #222", "color: #222; opacity: 0.4", check))
        self.assertIn('"text"', self.found("background: #fff", "background: #333", check))
        self.assertIn('"ax"', self.found('fill="#fff"', 'fill="#444"', check))
        self.assertEqual(self.found("<h1>", '<h1 style="color: #888">', check), "")  # it is large

    def test_keyboard(self):
        check = accessibility.keyboard
        self.assertIn("shows no focus", self.found("2px solid #00f", "none", check))
        self.assertIn("cannot be reached", self.found(
            "<button>Go</button>", '<button id="b">Go</button><button id="c" '
            'onfocus="document.querySelector(\'#b\').focus()">Stop</button><a href="#x">on</a>',
            check))

    def test_width(self):
        self.page.set_viewport_size(NARROW)
        self.found()
        self.assertEqual(accessibility.overflow(self.page), 0)
        self.found("<button>", '<button style="width: 600px">')
        self.assertGreater(accessibility.overflow(self.page), 150)
        self.assertIn("<button", accessibility.sticking_out(self.page)[0])

    def test_what_a_page_must_not_do_is_noticed(self):
        page, wrong = self.page, self.watch.wrong
        for event, script in {
                "console": "console.error('an error')",
                "dialog": "setTimeout(() => alert(1))",
                "pageerror": "setTimeout(() => { throw new Error('thrown'); })",
                "requestfailed": "fetch('http://127.0.0.2:9/').catch(() => {})"}.items():
            with page.expect_event(event):
                page.evaluate(f"() => {{ {script}; }}")
        for what in ("an error", "dialog", "another host", "exception"):
            self.assertIn(what, "\n".join(wrong))
        page.close()
        wrong.clear()


if __name__ == "__main__":
    main()
