// A program that takes orders and leaves the work to jobs.
export async function placeOrder(writ, order) {
  await writ.submit({ type: "email.send", params: { to: order.email, subject: `Order ${order.id}` } });
  await writ.submit({ type: "order.remind", params: { id: order.id }, delay: "24h" });
}

export function addHandlers(worker, mailer) {
  worker.handle("email.send", async ({ params }, { log }) => {
    log(`to ${params.to}`);
    return mailer.send(params);
  });
  worker.handle("order.remind", ({ params }) => mailer.send({ subject: `Still waiting: ${params.id}` }));
}
