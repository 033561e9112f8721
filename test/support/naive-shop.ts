/** A minimal model of docs/guarantees.md, Stock: one pet and its orders, each rule as the text states it. */
import type { PetStatus } from '../../src/shop/model.ts';

export type Step =
  | { readonly do: 'place'; readonly quantity: number; readonly complete: boolean }
  | { readonly do: 'change'; readonly order: number; readonly quantity?: number; readonly complete?: boolean }
  | { readonly do: 'cancel'; readonly order: number }
  | { readonly do: 'setInventory'; readonly quantity: number }
  | { readonly do: 'setStatus'; readonly status: PetStatus };

interface NaiveOrder {
  readonly id: number;
  quantity: number;
  complete: boolean;
}

export class NaiveShop {
  stock = 0;
  status: PetStatus = 'available';
  readonly orders: NaiveOrder[] = [];
  /** The units added by setting the inventory, minus those removed: the stock plus the units in orders. */
  adjustments = 0;
  #nextId = 0;

  /** Runs a step and returns "ok" or the code of the refusal. */
  run(step: Step): string {
    switch (step.do) {
      case 'place':
        return this.#place(step.quantity, step.complete);
      case 'change':
        return this.#change(step.order, step.quantity, step.complete);
      case 'cancel':
        return this.#cancel(step.order);
      case 'setInventory':
        if (step.quantity > this.stock && step.quantity + this.#openUnits() > 1_000_000_000) return 'INVALID_ARGUMENT';
        this.adjustments += step.quantity - this.stock;
        this.stock = step.quantity;
        if (this.stock > 0) this.#becomeAvailable();
        return 'ok';
      case 'setStatus':
        this.status = step.status;
        return 'ok';
    }
  }

  #openUnits(): number {
    return this.orders.reduce((sum, { quantity, complete }) => sum + (complete ? 0 : quantity), 0);
  }

  unitsInOrders(): number {
    return this.orders.reduce((sum, { quantity }) => sum + quantity, 0);
  }

  #place(quantity: number, complete: boolean): string {
    if (quantity > this.stock) return 'INSUFFICIENT_STOCK';
    this.#takeUnits(quantity);
    this.orders.push({ id: this.#nextId++, quantity, complete });
    if (complete) this.#orderClosed();
    return 'ok';
  }

  #change(id: number, quantity: number | undefined, complete: boolean | undefined): string {
    const order = this.orders.find((one) => one.id === id);
    if (order === undefined) return 'ORDER_NOT_FOUND';
    if (order.complete) return 'ORDER_COMPLETE';
    const difference = (quantity ?? order.quantity) - order.quantity;
    if (difference > this.stock) return 'INSUFFICIENT_STOCK';
    if (difference > 0) this.#takeUnits(difference);
    if (difference < 0) this.#returnUnits(-difference);
    order.quantity += difference;
    if (complete === true) {
      order.complete = true;
      this.#orderClosed();
    }
    return 'ok';
  }

  #cancel(id: number): string {
    const order = this.orders.find((one) => one.id === id);
    if (order === undefined) return 'ORDER_NOT_FOUND';
    if (order.complete) return 'ORDER_COMPLETE';
    this.orders.splice(this.orders.indexOf(order), 1);
    this.#returnUnits(order.quantity);
    return 'ok';
  }

  #takeUnits(units: number): void {
    this.stock -= units;
    if (this.stock === 0 && this.status === 'available') this.status = 'pending';
  }

  #returnUnits(units: number): void {
    this.stock += units;
    this.#becomeAvailable();
  }

  #becomeAvailable(): void {
    if (this.status === 'pending' || this.status === 'sold') this.status = 'available';
  }

  #orderClosed(): void {
    const anyOpen = this.orders.some(({ complete }) => !complete);
    if (!anyOpen && this.stock === 0 && this.status === 'pending') this.status = 'sold';
  }
}
