import Sealing
import Synchronization

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

    private let inputs: SettingsInputs
    private var problems: [SettingsProblem] = []
    /// The setting that standard input was read for.
    private var standardInput: String?
    private(set) var declarations: [Declaration] = []
    /// The files that secrets were read from, by key.
    private(set) var secretFiles: [(key: String, path: String)] = []

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

    /// Reads a secret from the file that `KEY_file` names, or from the variable of the key itself, never from the
    /// settings file.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - help: The purpose of the secret.
    ///   - isNeeded: Whether an unreadable file prevents a worker from starting.
    /// - Returns: The secret; nil if there is none, or a problem was found.
    mutating func secret(_ key: String, _ help: String, isNeeded: Bool = true) -> Secret<String>? {
        let fileKey = key + "_file"
        let named = inputs.value(of: fileKey)
        let direct = inputs.value(of: key)
        let form = "a path, or - for standard input"
        if let direct, case .variable = direct.source {
            declare(fileKey, form, nil, help, isSecret: true, nil, direct.source)
            guard !direct.text.isEmpty else {
                report(key, direct.source, "is empty: set it, or leave it out", stopsNothing: !isNeeded)
                return nil
            }
            return Secret(direct.text)
        }
        let shown = named.map { $0.text == "-" || PathText.isPath($0.text) ? $0.text : "(set)" }
        declare(fileKey, form, nil, help, isSecret: true, shown, named?.source)
        if let direct {
            report(
                key,
                direct.source,
                "a secret must not be written here: put it in a file and name the file with \(fileKey)"
            )
        }
        guard let named else { return nil }
        return contents(of: named, fileKey, isNeeded: isNeeded)
    }

    /// Reads a secret that may change while a worker runs; the returned closure reads its file again at each call.
    ///
    /// The closure returns the last value read if the file is empty or unreadable at that moment, as while it is being
    /// replaced, or if it cannot be read twice, such as a pipe.
    ///
    /// - Returns: The closure; nil if there is no secret, or a problem was found.
    mutating func changingSecret(_ key: String, _ help: String) -> (@Sendable () -> Secret<String>)? {
        guard let first = secret(key, help) else { return nil }
        guard let path = file(ofSecret: key), let readFile = inputs.readFile else { return { first } }
        let last = Mutex(first)
        return { @Sendable in
            guard FileModes(path: path)?.isPlain == true, let text = try? readFile(path).trimmingLineEnds(),
                !text.isEmpty
            else { return last.withLock { $0 } }
            let secret = Secret(text)
            last.withLock { $0 = secret }
            return secret
        }
    }

    /// The file of a secret; nil for a variable and for standard input, which cannot be read again.
    func file(ofSecret key: String) -> String? {
        if let direct = inputs.value(of: key), case .variable = direct.source { return nil }
        return inputs.value(of: key + "_file").flatMap { $0.text == "-" ? nil : $0.text }
    }

    /// Reads the file of a secret; an unreadable file becomes a problem.
    private mutating func contents(of named: RawSetting, _ key: String, isNeeded: Bool) -> Secret<String>? {
        if named.text.allSatisfy(\.isWhitespace) {
            report(key, named.source, "is empty: name a file, or leave it out", stopsNothing: !isNeeded)
            return nil
        }
        if named.text == "-" {
            if let other = standardInput {
                report(key, named.source, "standard input is \(other) already: only one secret can come from there")
                return nil
            }
            standardInput = key
        }
        guard let readFile = inputs.readFile else { return nil }
        let name = named.text == "-" ? "standard input" : PathText.naming(named.text)
        do {
            let text = try readFile(named.text).trimmingLineEnds()
            if text.isEmpty { report(key, named.source, "\(name) is empty", stopsNothing: !isNeeded) }
            if named.text != "-" { secretFiles.append((key, named.text)) }
            return Secret(text)
        } catch let error as SecretFile.Failure {
            // The error's description contains the path, which may be the secret itself.
            let message =
                if named.text == "-" {
                    "cannot read \(name): \(error.reason)"
                } else if PathText.isSecret(named.text) {
                    "is the secret itself: put it into a file and name that, or into the variable "
                        + SettingsInputs.variable(of: String(key.dropLast("_file".count)))
                } else {
                    PathText.unreadable(named.text, error.reason)
                }
            report(key, named.source, message, stopsNothing: !isNeeded)
        } catch {
            report(key, named.source, "cannot read \(name)", stopsNothing: !isNeeded)
        }
        return nil
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

    private mutating func declare(
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

    private mutating func report(
        _ key: String,
        _ source: SettingsSource,
        _ message: String,
        stopsNothing: Bool = false
    ) {
        problems.append(SettingsProblem(key: key, source: source, message: message, stopsNothing: stopsNothing))
    }
}
