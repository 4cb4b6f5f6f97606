/// A misuse of the sandbox itself, described in words; never an answer of the simulated services.
package struct SandboxError: Error, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
