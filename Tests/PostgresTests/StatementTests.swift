import LibPQ
import Testing

@testable import Postgres

@Suite struct StatementTests {
    @Test func valuesBecomePlaceholders() {
        let statement: Statement = "select * from t where a = \(1) and b = \("it's")"
        #expect(statement.text == "select * from t where a = $1 and b = $2")
        #expect(statement.parameters.count == 2)
        #expect(!statement.description.contains("it's"))
    }

    @Test func joiningRenumbers() {
        let filter: Statement = "a = \(1) and b = \(2)"
        let statement: Statement = "select \(0) from t where \(filter)" + " limit \(3)"
        #expect(statement.text == "select $1 from t where a = $2 and b = $3 limit $4")
        #expect(statement.parameters.count == 4)
    }

    @Test func aStatementIsRunWithOtherValues() {
        let statement: Statement = "select \(1), \("a\0b"), \(Int?.none)"
        let other = statement.with(2, "b", Int?.some(3))
        #expect(other.text == statement.text)
        #expect(other.fault == nil)
        #expect(other.parameters == ("select \(2), \("b"), \(Int?.some(3))" as Statement).parameters)
        #expect(statement.with(2, "b\0", Int?.none).fault == .nul)
        // Such a statement can be joined like any other.
        #expect((other + " where \(4)").text == "select $1, $2, $3 where $4")
    }

    @Test func dollarsInTextAreLeftAlone() {
        let statement = Statement(unsafeSQL: "select '$1', ") + "\(5)"
        #expect(statement.text == "select '$1', $1")
    }

    @Test(arguments: [
        ("plain", "\"plain\""), ("Ein \"Name\"", "\"Ein \"\"Name\"\"\""), ("", "\"\""),
        ("a\"\u{301}b\"", "\"a\"\"\u{301}b\"\"\""),
    ])
    func identifiersAreQuoted(name: String, quoted: String) {
        #expect(("\(identifier: name)" as Statement).text.utf8.elementsEqual(quoted.utf8))
    }

    @Test(arguments: [("it's", "'it''s'"), ("a'\u{301}b", "'a''\u{301}b'"), ("\"", "'\"'")])
    func literalsAreQuoted(text: String, quoted: String) {
        #expect(quoteLiteral(text).utf8.elementsEqual(quoted.utf8))
    }

    @Test func aNULIsAFault() {
        #expect(("select \("a\0b")" as Statement).fault == .nul)
        #expect(("select \(["a", "b\0"])" as Statement).fault == .nul)
        #expect(("select \("ab")" as Statement).fault == nil)
        #expect(Statement(unsafeSQL: "select '\0'").fault == .nul)
        #expect(("select \(identifier: "a\0")" as Statement).fault == .nul)
        let statement: Statement = "select '\(unsafeSQL: "\0")', \(1)"
        #expect(statement.with(2).fault == .nul)
        #expect(("select 1" + statement).fault == .nul)
    }
}
