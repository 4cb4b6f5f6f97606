import Sealing
import Synchronization

/// Secrets, whose values come from files and variables, never from the settings file.
extension SettingsReader {
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
            guard FileModes(path: path)?.isPlain == true, let text = try? readFile(path).trimmingEditorMarks(),
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
            let text = try readFile(named.text).trimmingEditorMarks()
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
}
