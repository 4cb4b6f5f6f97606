import Testing

@testable import AccountLifecycle

@Suite struct SearchStatementsTests {
    private func starts(_ address: String) throws -> (starts: [String], spellings: [[UInt8]]) {
        let identifier = try #require(Identifier(email: address))
        let spellings = IdentifierPattern.patterns(of: identifier).map(\.bytes)
        return (SearchStatements.starts(of: spellings), spellings)
    }

    /// For each text, the server looks through all data once more.
    @Test func spellingsThatBeginAlikeAreSoughtTogether() throws {
        #expect(try starts("anna.berg@x.de").starts == ["anna.berg"])
        let markdown = [#"anna\_berg@x.de"#, #"anna\\_berg@x.de"#]
        #expect(try starts("anna_berg@x.de").starts == ["anna_berg"] + markdown)
    }

    @Test(arguments: ["anna@x.de", "anna_berg+tag@x.de", "o'brien_@x.de", "jörg_öl@x.de", #""a b\c"_d@x.de"#])
    func everySpellingBeginsWithATextThatIsSought(address: String) throws {
        let (starts, spellings) = try starts(address)
        for spelling in spellings { #expect(starts.contains { spelling.starts(with: $0.utf8) }) }
    }
}
