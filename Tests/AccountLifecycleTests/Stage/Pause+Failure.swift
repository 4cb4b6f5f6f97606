import AccountLifecycle

extension DeletionDriver.Pause {
    /// The situation in which the attempt failed; throws if the attempt did not fail.
    var failure: Situation {
        get throws {
            guard case .failed(_, let situation) = self else { throw Unexpected(self) }
            return situation
        }
    }
}
