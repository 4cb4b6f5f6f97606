/// Prometheus's text format, version 0.0.4.
struct PrometheusText {
    private(set) var text = ""

    mutating func help(_ name: String, _ words: String) {
        text += "# HELP \(name) \(words)\n"
    }

    mutating func type(_ name: String, _ kind: String) {
        text += "# TYPE \(name) \(kind)\n"
    }

    mutating func sample(_ name: String, _ labels: String, _ value: Double) {
        text += name + (labels.isEmpty ? "" : "{\(labels)}") + " " + Self.number(value) + "\n"
    }

    /// Formats a number; whole numbers have no decimal point: `3`, not `3.0`.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        return Int64(exactly: value).map { String($0) } ?? String(value)
    }

    /// Formats labels, ordered by name, with their values quoted.
    static func labels(_ labels: [String: String]) -> String {
        labels.sorted { $0.key < $1.key }.map { "\($0.key)=\"\(escaped($0.value))\"" }.joined(separator: ",")
    }

    /// A metric's name with every invalid character replaced by `_`.
    static func name(_ label: String) -> String {
        sanitised(label, allowsColon: true)
    }

    static func labelName(_ label: String) -> String {
        sanitised(label, allowsColon: false)
    }

    private static func sanitised(_ label: String, allowsColon: Bool) -> String {
        var name = ""
        for scalar in label.unicodeScalars {
            let isAllowed =
                scalar.isASCII && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
                || scalar == "_" || (allowsColon && scalar == ":")
            name.unicodeScalars.append(isAllowed ? scalar : "_")
        }
        if name.unicodeScalars.first.map({ $0.properties.numericType != nil }) ?? true { name = "_" + name }
        return name
    }

    /// Escapes a label's value, scalar by scalar: a quote with a combining accent is another Character, yet still ends
    /// the value.
    private static func escaped(_ value: String) -> String {
        var result = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\"": result += "\\\""
            case "\n": result += "\\n"
            case "\r": continue
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
