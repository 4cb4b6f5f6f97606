/// The answers to a load whose process is killed before its end.
actor AnswerBook {
    private(set) var answers: [NotificationLoad.Answer] = []
    private var promises = 0
    private var isClosed = false
    private var waiting: (promises: Int, continuation: CheckedContinuation<Void, Never>)?

    func keep(_ answer: NotificationLoad.Answer) {
        answers.append(answer)
        if answer.milliseconds != nil { promises += 1 }
        if let waiting, promises >= waiting.promises { wake() }
    }

    /// Records that no more answers will come.
    func close() {
        isClosed = true
        wake()
    }

    /// Returns once the given number were answered with 200, or no more answers will come.
    func holds(promises wanted: Int) async {
        guard promises < wanted, !isClosed else { return }
        await withCheckedContinuation { waiting = (wanted, $0) }
    }

    private func wake() {
        waiting?.continuation.resume()
        waiting = nil
    }
}
