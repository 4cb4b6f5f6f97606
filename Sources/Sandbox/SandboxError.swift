/// A misuse of the sandbox itself, in words; never an answer of the services it stands for.
package struct SandboxError: Error, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
