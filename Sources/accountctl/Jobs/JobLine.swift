import JobQueue
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A line of a list of jobs: a JSON object whose fields match the options of one job.
struct JobLine {
    private enum Field: String, CaseIterable {
        case kind, queue, arguments, priority, `in`, at
        case argumentsVersion = "arguments_version"
        case uniqueKey = "unique_key"
        case limitKey = "limit_key"
        case maxAttempts = "max_attempts"
    }

    private let fields: [String: JSONValue]

    /// Reads a line.
    ///
    /// - Throws: ``LineProblem`` if the line is not a JSON object, has a number that would be rounded, or has a field
    ///   that jobs do not have.
    init(_ text: String) throws {
        guard let fields = try? JSONDecoder().decode([String: JSONValue].self, from: Data(text.utf8)),
            !Self.holdsLongNumber(text)
        else {
            let isObject = (try? JobDocument(object: text)) != nil
            throw LineProblem(
                isObject
                    ? "holds a number that is too large, small or long"
                    : "is not a JSON object whose numbers fit a double"
            )
        }
        let known = Field.allCases.map(\.rawValue)
        if let unknown = fields.keys.sorted().first(where: { !known.contains($0) }) {
            let near = NearestName.question(of: unknown, among: known)
            throw LineProblem("\"\(SafeText.line(unknown.prefix(60)))\" is not a field of a job\(near)")
        }
        self.fields = fields
    }

    /// The job that the line describes.
    ///
    /// - Throws: ``LineProblem`` that names the field.
    func order() throws -> JobOrder {
        guard let kind = try text(.kind) else { throw LineProblem("kind is missing") }
        let (length, moment) = (try text(.in), try text(.at))
        if length != nil, moment != nil { throw LineProblem("in and at cannot be combined") }
        do {
            let wait = try length.map { try DurationArgument.required($0, "in") }
            let job = try NewJob(
                kind: kind,
                queue: text(.queue) ?? JobOrder.queue(of: kind),
                arguments: JobDocument(encoding: arguments()),
                argumentsVersion: number(.argumentsVersion) ?? 1,
                priority: number(.priority) ?? 5,
                runAt: moment.map { try DurationArgument.absolute($0, "at") },
                uniqueKey: text(.uniqueKey),
                limitKey: text(.limitKey),
                maxAttempts: number(.maxAttempts)
            )
            return try JobOrder(job, wait: wait)
        } catch let error as JobQueueError {
            throw LineProblem(Self.words(error))
        } catch let error as CommandError {
            throw LineProblem(error.message)
        }
    }

    /// Whether a number has more than the 38 digits that `Decimal` always keeps; `Decimal` silently rounds longer ones.
    private static func holdsLongNumber(_ json: String) -> Bool {
        var (digits, isString, isEscaped) = (0, false, false)
        for byte in json.utf8 {
            switch byte {
            case _ where isEscaped: isEscaped = false
            case UInt8(ascii: "\\"): isEscaped = true
            case UInt8(ascii: "\""): isString.toggle()
            case UInt8(ascii: "0")...UInt8(ascii: "9") where !isString: digits += 1
            case UInt8(ascii: "."): break
            default: digits = 0
            }
            if digits > 38 { return true }
        }
        return false
    }

    private func text(_ field: Field) throws -> String? {
        switch fields[field.rawValue] {
        case nil, .null: nil
        case .string(let text): text
        default: throw LineProblem("\(field.rawValue) must be a string")
        }
    }

    private func number(_ field: Field) throws -> Int16? {
        switch fields[field.rawValue] {
        case nil, .null: return nil
        case .number(let number):
            // The new job checks the bounds, which are narrower than those of the type.
            let fitting = min(max(number, Decimal(Int16.min)), Decimal(Int16.max))
            if let whole = Int16(fitting.description) { return whole }
        default: break
        }
        throw LineProblem("\(field.rawValue) must be a whole number")
    }

    private func arguments() throws -> [String: JSONValue] {
        switch fields[Field.arguments.rawValue] {
        case nil: [:]
        case .object(let arguments): arguments
        default: throw LineProblem("arguments must be a JSON object")
        }
    }

    /// The message with its leading field name replaced by the name that the field has in a line.
    private static func words(_ error: JobQueueError) -> String {
        guard let field = error.field, error.message.hasPrefix(field) else { return error.message }
        let name =
            switch field {
            case "runAt": "at"
            case "for": "in"
            default: field.map { $0.isUppercase ? "_" + $0.lowercased() : String($0) }.joined()
            }
        return name + error.message.dropFirst(field.count)
    }
}
