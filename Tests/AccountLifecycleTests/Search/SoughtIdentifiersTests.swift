import Foundation
import Testing

@testable import AccountLifecycle

@Suite struct SoughtIdentifiersTests {
    /// Anybody may write such a row: the columns before each place were counted from the row's beginning, and a row of a
    /// megabyte took minutes.
    @Test(.timeLimit(.minutes(1))) func aRowThatRepeatsAnIdentifierIsReadOnce() {
        let identifiers = [Identifier(email: "anna@x.de")].compactMap(\.self)
        let target = SearchTarget(request: UUID(), userID: UUID(), identifiers: identifiers)
        let sought = SoughtIdentifiers([target], holders: [:])
        let separator = String(decoding: [SearchStatements.separator], as: UTF8.self)
        let row = ["", String(repeating: "anna@x.de ", count: 100_000), "", "anna@x.de"].joined(separator: separator)
        let columns = Dictionary(uniqueKeysWithValues: sought.hits(in: row).map { ($0.key.column, $0.value) })
        #expect(columns == [1: 100_000, 3: 1])
    }
}
