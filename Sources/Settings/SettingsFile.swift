import Sealing

/// The parsed text of a settings file.
///
/// ```
/// # A comment.
/// environment = production
///
/// [database]
/// url = postgresql://postgres@db.example.com/postgres
///
/// [deletion]
/// grace = 24h                  # a comment after a value
/// note = "quotes keep # and blanks, \"escapes\" too"
/// ```
///
/// The name of a section is prefixed to its keys: `[deletion]` and `grace` give the key `deletion.grace`. Lists are
/// separated by commas.
struct SettingsFile: Sendable, Equatable {
    /// The values by key.
    private(set) var values: [String: RawSetting] = [:]
    private(set) var problems: [SettingsProblem] = []

    /// The key in the problem of an unreadable line.
    ///
    /// The line itself is never repeated, since it may belong to a key that somebody pasted.
    private static let unreadable = "(unreadable line)"

    /// Parses a whole file; each unreadable line becomes a problem.
    init(text: String, path: String) {
        var section = ""
        // Editors on Windows end lines with CR LF, which Swift treats as one character different from LF.
        let lines = text.drop { $0 == .byteOrderMark }
            .split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
        for (offset, line) in lines.enumerated() {
            let source = SettingsSource.file(path: path, line: offset + 1)
            let content = Self.trimmed(line)
            if content.isEmpty || content.hasPrefix("#") { continue }
            if content.hasPrefix("[") {
                let inner = Self.trimmed(Self.withoutComment(content))
                let name = inner.dropFirst().dropLast()
                guard inner.hasSuffix("]"), Self.isKey(name) else {
                    problems.append(.init(key: Self.unreadable, source: source, message: "expected [section]"))
                    continue
                }
                section = name + "."
                continue
            }
            guard let equals = content.firstIndex(of: "=") else {
                problems.append(.init(key: Self.unreadable, source: source, message: "expected key = value"))
                continue
            }
            let name = Self.trimmed(content[..<equals])
            // Lines of base64 may look like keys, but contain capitals; the name of a section may have capitals.
            let last = name.split(separator: ".").last ?? ""
            guard Self.isKey(name), name.utf8.count <= 100, !last.contains(where: \.isUppercase) else {
                problems.append(
                    .init(
                        key: Self.unreadable,
                        source: source,
                        message: "the text before = is not a key: expected lower-case letters, digits, _ and ."
                    )
                )
                continue
            }
            add(section + name, Self.trimmed(content[content.index(after: equals)...]), source)
        }
    }

    private mutating func add(_ key: String, _ text: Substring, _ source: SettingsSource) {
        guard let value = Self.value(text) else {
            problems.append(
                .init(key: key, source: source, message: "the closing quote is missing, or something follows it")
            )
            return
        }
        if let earlier = values[key] {
            problems.append(.init(key: key, source: source, message: "already set at \(earlier.source)"))
            return
        }
        values[key] = RawSetting(text: value, source: source)
    }

    /// A quoted text with its escapes resolved, or the bare text up to a comment; nil if the quotes are not closed.
    private static func value(_ text: Substring) -> String? {
        guard text.hasPrefix("\"") else { return String(trimmed(withoutComment(text))) }
        var result = ""
        var rest = text.dropFirst()
        while let character = rest.popFirst() {
            switch character {
            case "\"":
                let after = trimmed(rest)
                return after.isEmpty || after.hasPrefix("#") ? result : nil
            case "\\":
                switch rest.popFirst() {
                case "n": result += "\n"
                case "t": result += "\t"
                case let escaped?: result.append(escaped)
                case nil: return nil
                }
            default: result.append(character)
            }
        }
        return nil
    }

    /// A `#` starts a comment only after a blank, since passwords and URL fragments may contain it.
    private static func withoutComment(_ text: Substring) -> Substring {
        var previous: Character = " "
        for index in text.indices {
            if text[index] == "#", previous == " " || previous == "\t" { return text[..<index] }
            previous = text[index]
        }
        return text
    }

    private static func isKey(_ text: Substring) -> Bool {
        !text.isEmpty
            && text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { part in
                !part.isEmpty
                    && part.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == "-") }
            }
    }

    private static func trimmed(_ text: Substring) -> Substring {
        text.trimming { $0 == " " || $0 == "\t" || $0 == "\r" }
    }
}
