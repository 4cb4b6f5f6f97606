package import Postgres
package import Sealing

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A receipt as stored.
package struct IssuedReceipt: Sendable {
    /// Whether the document is unchanged.
    package enum Verdict: String, Sendable, Hashable {
        case intact
        case changed
        /// The key that sealed it is not at hand.
        case unchecked
    }

    package let number: Int64
    package let document: ReceiptDocument
    private let seal: [UInt8]
    /// Whether the document is about the request and the account of its row.
    private let isFiledRight: Bool

    /// The receipt of a request.
    package static func find(of request: UUID, on connection: isolated Connection) throws -> IssuedReceipt? {
        try read("where request_id = \(request)", on: connection).first
    }

    /// The newest receipts that were sealed with a key, at most `count`.
    static func newest(_ count: Int, under key: KeyID, on connection: isolated Connection) throws -> [IssuedReceipt] {
        try read(
            """
            where subject_key_id = \(key.text) and document ->> 'subjectKey' = \(key.text)
            order by number desc
            limit \(count)
            """,
            on: connection
        )
    }

    private static func read(_ clauses: Statement, on connection: isolated Connection) throws -> [IssuedReceipt] {
        try connection.query(
            """
            select
                number, document, seal,
                document ->> 'request' ilike request_id::text and document ->> 'subject' = encode(subject_hash, 'hex')
            from accountctl.deletion_receipts
            \(clauses)
            """,
            as: (Int64, JSON<ReceiptDocument>, [UInt8], Bool?).self
        ).map { IssuedReceipt(number: $0, document: $1.value, seal: $2, isFiledRight: $3 ?? false) }
    }

    /// Checks the seal, and that the receipt was not put in the place of another.
    package func check(with key: HashKey?) throws -> Verdict {
        guard isFiledRight else { return .changed }
        guard let key, key.id.text == document.subjectKey else { return .unchecked }
        return try document.seal(with: key) == seal ? .intact : .changed
    }
}
