import Sealing
import Settings

/// Returns the inputs of settings: a settings file, variables, flags and other files.
func inputs(
    _ file: String = "",
    variables: [String: String] = [:],
    flags: [String: (value: String, flag: String)] = [:],
    environment: String? = nil,
    files: [String: String] = [:]
) -> SettingsInputs {
    SettingsInputs(
        file: (file, "a.conf"),
        variables: variables,
        flags: flags,
        environment: environment,
        readFile: { path in
            guard let text = files[path] else {
                throw SecretFile.Failure(path: path, reason: "there is no such file")
            }
            return text
        }
    )
}
