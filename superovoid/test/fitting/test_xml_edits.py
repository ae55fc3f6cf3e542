# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Edits of XML documents preserve everything else byte for byte."""

from xml.etree import ElementTree

from superovoid.fitting.xml_edits import Edits, element

DECLARATION = "<?xml version='1.0' encoding='utf-8'?>\n"
TEXT = """<!-- made by xacro -->
<robot name="é" xmlns:x="http://x">
  <link name="a">
    <visual note="1 > 0"/>
    <old n="1"/> <!-- kept -->
    <old><inner/></old>
    <old/>
  </link>
  <link name='b'/><link name="c"></link>
  <pair note=" reason='q'" reason = 'given'/>
  <pair/>
</robot>
<?after it?>
"""


def test_unedited_document_is_unchanged():
    assert Edits(TEXT).text() == DECLARATION + TEXT


def test_declaration_of_another_encoding_is_replaced():
    assert Edits(f'\ufeff\n<?xml version="1.0" encoding="latin-1"?>\n{TEXT}').text() == DECLARATION + TEXT


def test_elements_are_appended_to_every_form_of_element():
    edits = Edits(TEXT)
    for link in edits.root.children[:3]:
        edits.append(link, [element("new", {"n": 'a"<b'}, [element("inner", {})])])
    text = edits.text()
    links = ElementTree.fromstring(text.encode()).findall("link")
    assert [link[-1].get("n") for link in links] == ['a"<b'] * 3
    assert (
        "    <old/>\n    <new n='a\"&lt;b'>\n      <inner/>\n    </new>\n  </link>\n  <link name='b'>\n    <new" in text
    )


def test_removed_elements_leave_comments_and_indentation():
    edits = Edits(TEXT)
    link = edits.root.children[0]
    edits.remove([child for child in link.children if child.tag == "old"])
    assert '<visual note="1 > 0"/>\n    <!-- kept -->\n  </link>' in edits.text()
    edits = Edits(TEXT)
    edits.remove(edits.root.children)
    assert edits.text().endswith('xmlns:x="http://x">\n</robot>\n<?after it?>\n')


def test_removing_and_appending_replaces_elements():
    edits = Edits(TEXT)
    link = edits.root.children[0]
    edits.remove([child for child in link.children if child.tag == "old"])
    edits.append(link, [element("new", {})])
    assert "    <!-- kept -->\n    <new/>\n  </link>" in edits.text()


def test_set_changes_the_attribute_only():
    edits = Edits(TEXT)
    for pair in edits.root.children[3:]:
        edits.set(pair, "reason", "a < b")
    assert '<pair note=" reason=\'q\'" reason="a &lt; b"/>\n  <pair reason="a &lt; b"/>' in edits.text()
