/** Thrown by an act that must be rolled back but still return a value. */
export class RefusedAct extends Error {
  readonly answer: unknown;

  constructor(answer: unknown) {
    super("refused");
    this.answer = answer;
  }
}
