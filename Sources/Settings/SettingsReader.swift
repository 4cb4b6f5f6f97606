/// Reads settings one by one and collects all problems, so that they are reported together.
///
/// A group of settings declares a key by reading it: that one line gives its name, form, default and meaning, and is the
/// source for the table of keys, `config show` and the search for unknown keys.
///
/// ```swift
/// grace = reader.read("deletion.grace", .duration(.zero ... .days(30)), default: .days(1), "How long a person can cancel.")
/// ```
package struct SettingsReader {
    /// A declared key, for the table of keys.
    package struct Declaration: Sendable, Equatable {
        package let key: String
        package let form: String
        /// The default in its written form; nil if there is none.
        package let standard: String?
        package let help: String
        let isSecret: Bool
        /// The effective value in its written form; nil if unset, a fixed text for secrets.
        package let value: String?
        package let source: SettingsSource
    }

    let inputs: SettingsInputs
    private var problems: [SettingsProblem] = []
    /// The setting that standard input was read for.
    var standardInput: String?
    private(set) var declarations: [Declaration] = []
    /// The files that secrets were read from, by key.
    var secretFiles: [(key: String, path: String)] = []

    init(inputs: SettingsInputs) {
        self.inputs = inputs
        problems = inputs.problems
    }

    /// Reads a setting with a default; a value in the wrong form becomes a problem, and the default is used.
    mutating func read<Value: Sendable>(
        _ key: String,
        _ form: SettingForm<Value>,
        default standard: Value,
        _ help: String
    ) -> Value {
        value(key, form, standard: standard, help) ?? standard
    }

    /// Reads an optional setting.
    mutating func optional<Value: Sendable>(_ key: String, _ form: SettingForm<Value>, _ help: String) -> Value? {
        value(key, form, standard: nil, help)
    }

    /// Reports settings that conflict with each other.
    ///
    /// Nothing is reported if the settings file is checked alone, since the variables and flags of that environment,
    /// which may decide, are unknown.
    mutating func reportConflict(_ key: String, _ message: String) {
        if inputs.readFile != nil { report(key, message) }
    }

    /// Reports a missing value, or a value that is well-formed but does not make sense.
    mutating func report(_ key: String, _ message: String, stopsNothing: Bool = false) {
        report(key, inputs.value(of: key)?.source ?? .standard, message, stopsNothing: stopsNothing)
    }

    /// Whether the effective value of the key comes from the settings file.
    func isFromFile(_ key: String) -> Bool {
        if case .file = inputs.value(of: key)?.source { true } else { false }
    }

    /// Whether the effective value of the key comes from the file's section for the chosen environment.
    func isFromSection(_ key: String) -> Bool { inputs.isFromSection(key) }

    /// A variable that libpq uses where the connection string sets nothing.
    func connectionVariable(_ name: String) -> String? { inputs.connectionVariables[name] }

    /// The chosen environment, and whether the settings file knows its name.
    var environment: (name: String?, isKnown: Bool) { (inputs.environment, inputs.isEnvironmentKnown) }

    /// Whether the key is set.
    func isSet(_ key: String) -> Bool {
        inputs.value(of: key) != nil
    }

    /// The names of repeatable sections: `shop` if `PREFIX.shop.KEY` is set.
    ///
    /// - Parameters:
    ///   - prefix: the part before the name.
    ///   - keys: the possible parts after the name, which identify the name within a variable.
    /// - Returns: the names, sorted.
    func names(under prefix: String, keys: [String]) -> [String] {
        inputs.names(under: prefix, keys: keys)
    }

    /// All problems in the order of their sources, including one for each key that no group declared.
    mutating func finish() -> [SettingsProblem] {
        let known = Set(
            declarations.flatMap { $0.isSecret ? [$0.key, String($0.key.dropLast("_file".count))] : [$0.key] }
        )
        problems += inputs.unknownKeys(known: known)
        return problems.inOrderOfSources
    }

    private mutating func value<Value: Sendable>(
        _ key: String,
        _ form: SettingForm<Value>,
        standard: Value?,
        _ help: String
    ) -> Value? {
        let raw = inputs.value(of: key)
        let parsed = raw.flatMap { form.parse($0.text) }
        if let raw, parsed == nil {
            report(key, raw.source, form.refusal(of: raw.text))
        }
        let shownDefault = standard.map { form.show($0) }
        declare(
            key,
            form.expected,
            shownDefault,
            help,
            isSecret: false,
            parsed.map { form.show($0) } ?? shownDefault,
            raw?.source
        )
        return parsed ?? standard
    }

    /// Declares a key with its effective value.
    mutating func declare(
        _ key: String,
        _ form: String,
        _ standard: String?,
        _ help: String,
        isSecret: Bool,
        _ value: String?,
        _ source: SettingsSource?
    ) {
        assert(!declarations.contains { $0.key == key }, "the key \(key) is declared twice")
        declarations.append(
            Declaration(
                key: key,
                form: form,
                standard: standard,
                help: help,
                isSecret: isSecret,
                value: value,
                source: source ?? .standard
            )
        )
    }

    /// Reports a problem with a value from this source.
    mutating func report(
        _ key: String,
        _ source: SettingsSource,
        _ message: String,
        stopsNothing: Bool = false
    ) {
        problems.append(SettingsProblem(key: key, source: source, message: message, stopsNothing: stopsNothing))
    }
}
