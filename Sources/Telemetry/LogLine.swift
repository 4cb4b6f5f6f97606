import Logging
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One event, ready to be written.
struct LogLine {
    let time: Date
    let level: Logger.Level
    let label: String
    let message: String
    let metadata: Logger.Metadata

    /// One JSON object: `time`, `level`, `logger`, `message`, then the metadata with its keys sorted.
    var json: String {
        var text = "{\"time\":\"" + stamp + "\",\"level\":\"\(level.rawValue)\",\"logger\":"
        JSONText.quote(label, to: &text)
        text += ",\"message\":"
        JSONText.quote(message, to: &text)
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
            text += ","
            // The four names above are reserved.
            JSONText.quote(Self.ownNames.contains(key) ? "metadata." + key : key, to: &text)
            text += ":"
            Self.writeJSON(LogMask.apply(to: value, key: key), to: &text)
        }
        return text + "}\n"
    }

    /// `23:15:04.120 info message key=value`.
    var text: String {
        var text = stamp.dropFirst("2026-11-20T".count).dropLast() + " \(level.rawValue) " + LogText.line(message)
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
            text += " " + LogText.line(key) + "=" + LogText.line("\(LogMask.apply(to: value, key: key))")
        }
        return text + "\n"
    }

    private static let ownNames: Set<String> = ["time", "level", "logger", "message"]

    private var stamp: String { Wording.rfc3339(time) }

    private static func writeJSON(_ value: Logger.MetadataValue, to text: inout String) {
        switch value {
        case .string(let string): JSONText.quote(string, to: &text)
        case .stringConvertible(let number as Int): text += String(number)
        case .stringConvertible(let number as Int64): text += String(number)
        case .stringConvertible(let flag as Bool): text += flag ? "true" : "false"
        case .stringConvertible(let other): JSONText.quote(other.description, to: &text)
        case .array(let items):
            text += "["
            for (index, item) in items.enumerated() {
                if index > 0 { text += "," }
                writeJSON(item, to: &text)
            }
            text += "]"
        case .dictionary(let members):
            text += "{"
            for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
                if index > 0 { text += "," }
                JSONText.quote(member.key, to: &text)
                text += ":"
                writeJSON(member.value, to: &text)
            }
            text += "}"
        }
    }
}

/// Escapes text for log lines: no line breaks, and nothing that a terminal would interpret, whoever wrote it.
enum LogText {
    static func line(_ text: String) -> String {
        var result = ""
        var previous: Unicode.Scalar?
        for scalar in text.unicodeScalars {
            if SafeText.isHarmless(scalar, behind: previous) {
                result.unicodeScalars.append(scalar)
            } else {
                result += "\\u{" + String(scalar.value, radix: 16) + "}"
            }
            previous = scalar
        }
        return result
    }
}
