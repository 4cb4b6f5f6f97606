import AccountLifecycle
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A line of a list of erasures, parsed.
enum ErasureListLine: Decodable {
    /// The first line of a list, or of one of several in a file.
    case head(Head)
    case request(ListedErasure)
    /// The number of requests in the list, and its seal, which old lists lack.
    case end(Int, seal: String?)

    /// The origin of a list: its database, time and key.
    struct Head {
        let life: DatabaseLife
        let moment: Date
        let hashKey: String
        let canary: String
    }

    /// - Throws: ``LineProblem``.
    init(_ text: String) throws {
        do {
            self = try JSONDecoder().decode(Self.self, from: Data(text.utf8))
        } catch let error as LineProblem {
            throw error
        } catch {
            throw LineProblem("it is not a JSON object")
        }
    }

    init(from decoder: any Decoder) throws {
        let fields = Fields(try decoder.container(keyedBy: ErasureListFormat.Field.self))
        if fields.has(.version) {
            let version = try fields.value(.version, Int.self)
            guard version == ErasureListFormat.version else {
                throw LineProblem(
                    "the field \(ErasureListFormat.Field.version.rawValue) says version \(version), which is not known"
                )
            }
            self = .head(
                Head(
                    life: DatabaseLife(
                        database: try fields.value(.database, String.self),
                        timeline: try fields.value(.timeline, Int.self)
                    ),
                    moment: try fields.moment(.at),
                    hashKey: try fields.value(.hashKey, String.self),
                    canary: try fields.value(.canary, String.self)
                )
            )
        } else if fields.has(.end) {
            self = .end(
                try fields.value(.end, Int.self),
                seal: try fields.has(.seal) ? fields.value(.seal, String.self) : nil
            )
        } else {
            self = .request(try Self.listed(fields))
        }
    }

    /// The valid receipt numbers, bounded because a replay skips those in the list and enough of them must remain.
    private static let receipts: ClosedRange<Int64> = 1...1_000_000_000_000_000

    private static func listed(_ fields: Fields) throws -> ListedErasure {
        guard let state = DeletionState(rawValue: try fields.value(.state, String.self)) else {
            throw LineProblem(.state)
        }
        let hashKey = try fields.value(.hashKey, String.self)
        let digits = try fields.value(.subject, String.self)
        guard let subject = SubjectHash(keyID: hashKey, hexadecimal: digits) else { throw LineProblem(.subject) }
        let finishedAt = try fields.has(.finishedAt) ? fields.moment(.finishedAt) : nil
        guard (finishedAt != nil) == state.isFinal else { throw LineProblem(.finishedAt) }
        let listed = ListedErasure(
            request: try fields.value(.request, UUID.self),
            state: state,
            subject: subject,
            requestedAt: try fields.moment(.requestedAt),
            runAfter: try fields.moment(.runAfter),
            finishedAt: finishedAt,
            legalDeadline: try fields.moment(.legalDeadline),
            receipt: try fields.has(.receipt) ? fields.value(.receipt, Int64.self) : nil,
            isPaused: try fields.value(.paused, Bool.self),
            isHeld: try fields.value(.held, Bool.self)
        )
        if let number = listed.receipt, !receipts.contains(number) { throw LineProblem(.receipt) }
        guard listed.legalDeadline > listed.requestedAt else { throw LineProblem(.legalDeadline) }
        return listed
    }

    /// The fields of a line; the error for a bad field names it.
    private struct Fields {
        private let container: KeyedDecodingContainer<ErasureListFormat.Field>

        init(_ container: KeyedDecodingContainer<ErasureListFormat.Field>) { self.container = container }

        /// Whether the field is present and not null.
        func has(_ field: ErasureListFormat.Field) -> Bool {
            container.contains(field) && (try? container.decodeNil(forKey: field)) != true
        }

        func value<Value: Decodable>(_ field: ErasureListFormat.Field, _ type: Value.Type) throws -> Value {
            guard let value = try? container.decode(type, forKey: field) else { throw LineProblem(field) }
            return value
        }

        func moment(_ field: ErasureListFormat.Field) throws -> Date {
            guard let moment = MomentText.read(try value(field, String.self)) else { throw LineProblem(field) }
            return moment
        }
    }
}

extension LineProblem {
    /// A problem with a field that is missing or malformed.
    fileprivate init(_ field: ErasureListFormat.Field) {
        self.init("the field \(field.rawValue) is missing or out of form")
    }
}
