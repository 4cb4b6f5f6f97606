import Sealing

/// The form of a setting's value: how it is parsed, formatted, and described when it is wrong.
struct SettingForm<Value: Sendable>: Sendable {
    /// The expected form in words, such as `a length of time such as 24h, 1m to 30d`.
    let expected: String
    /// Parses the text; nil if it does not have the form.
    let parse: @Sendable (String) -> Value?
    /// Formats the value as in the settings file.
    let show: @Sendable (Value) -> String
    /// The message for an empty text.
    let whenEmpty: String
    /// Whether an error message may repeat a text in the wrong form; false if a secret is likely to be pasted there by
    /// mistake.
    let quotes: Bool

    init(
        expected: String,
        quotes: Bool = true,
        whenEmpty: String? = nil,
        parse: @escaping @Sendable (String) -> Value?,
        show: @escaping @Sendable (Value) -> String = { "\($0)" }
    ) {
        self.expected = expected
        self.quotes = quotes
        self.whenEmpty = whenEmpty ?? "is empty: expected \(expected)"
        self.parse = parse
        self.show = show
    }

    /// The error message for a text in the wrong form.
    func refusal(of text: String) -> String {
        text.allSatisfy(\.isWhitespace) ? whenEmpty : "\(naming(text)) is not \(expected)"
    }

    /// The name of a text in the wrong form: the text itself only if it is short and not likely to be a secret.
    private func naming(_ text: String) -> String {
        quotes && text.utf8.count <= 60 ? "\"\(text)\"" : "the value"
    }
}

extension SettingForm where Value == String {
    /// Any text that is not empty.
    static var text: Self { .init(expected: "a text") { $0.isEmpty ? nil : $0 } }

    /// The path of a file or folder; refuses the contents of a key file pasted in its place.
    static var path: Self {
        .init(expected: "a path", quotes: false) { $0.isEmpty || $0 == "-" || PathText.isKey($0) ? nil : $0 }
    }

    /// Exactly the given number of letters and digits, as in Apple's team and key ids.
    static func code(length: Int) -> Self {
        .init(expected: "\(length) letters and digits", quotes: false) { text in
            text.utf8.count == length && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) } ? text : nil
        }
    }

    /// The address of a service, without a trailing slash in its path.
    static var serviceURL: Self {
        .init(expected: "an address that starts with https:// (or http:// for this machine)", quotes: false) { text in
            let isLocal = ["http://localhost", "http://127.0.0.1", "http://[::1]"].contains { start in
                text.hasPrefix(start) && [nil, ":", "/"].contains(text.dropFirst(start.count).first)
            }
            guard isLocal || text.hasPrefix("https://"), text.drop(while: { $0 != "/" }).count > 2 else { return nil }
            guard !text.contains(where: { $0.isWhitespace || $0 == "@" }) else { return nil }
            return text.hasSuffix("/") ? String(text.dropLast()) : text
        }
    }
}

extension SettingForm where Value == Bool {
    /// Yes or no.
    static var yesOrNo: Self {
        .init(
            expected: "yes or no",
            parse: { text in
                switch text.lowercased() {
                case "yes", "true", "on", "1": true
                case "no", "false", "off", "0": false
                default: nil
                }
            },
            show: { $0 ? "yes" : "no" }
        )
    }
}

extension SettingForm where Value == Int {
    /// A whole number within the range.
    static func integer(_ range: ClosedRange<Int>) -> Self {
        .init(
            expected: "a whole number from \(range.lowerBound) to \(range.upperBound)",
            parse: { text in Int(text).flatMap { range.contains($0) ? $0 : nil } },
            // Not an interpolation: without a static type, it would search all conformances of the program.
            show: { String($0) }
        )
    }
}

extension SettingForm where Value == Duration {
    /// A duration within the range.
    static func duration(_ range: ClosedRange<Duration>) -> Self {
        let bounds = "\(DurationText.write(range.lowerBound)) to \(DurationText.write(range.upperBound))"
        return .init(
            expected: "a length of time such as 90s, 15m, 24h or 7d, from \(bounds)",
            parse: { DurationText.read($0).flatMap { range.contains($0) ? $0 : nil } },
            show: { DurationText.write($0) }
        )
    }
}

extension SettingForm where Value: CaseIterable & RawRepresentable<String> {
    /// One of the type's raw values.
    static var choice: Self {
        .init(
            expected: "one of " + Value.allCases.map(\.rawValue).joined(separator: ", "),
            parse: { Value(rawValue: $0) },
            show: { $0.rawValue }
        )
    }
}

extension SettingForm {
    /// Comma-separated values; brackets around them are optional, but required for an empty list.
    static func list<Element>(of form: SettingForm<Element>) -> SettingForm<[Element]>
    where Value == [Element] {
        .init(
            expected: "a list with commas, each " + form.expected,
            quotes: form.quotes,
            whenEmpty: "is empty: write [] for an empty list",
            parse: { text in
                var inner = text.trimming { $0.isWhitespace }
                // A variable that was left empty must not count as an empty list, which would disable a feature.
                guard !inner.isEmpty else { return nil }
                if inner.hasPrefix("["), inner.hasSuffix("]") { inner = inner.dropFirst().dropLast() }
                var values: [Element] = []
                for part in inner.split(separator: ",") {
                    // Also tabs, and the line ends of a variable with one element a line.
                    let item = part.trimming { $0.isWhitespace || $0 == "\"" }
                    // A line end within it stands where a comma is missing.
                    guard !item.isEmpty, !item.contains(where: \.isNewline) else { return nil }
                    // A bracket without its pair is left from brackets around the list. An IPv6 address has both.
                    guard item.contains("[") == item.contains("]"), let value = form.parse(String(item)) else {
                        return nil
                    }
                    values.append(value)
                }
                return values
            },
            show: { $0.map(form.show).joined(separator: ", ") }
        )
    }
}
